/* The request on screen: its fragment, what of it was read, and whether it can be answered now. */

const $ = (id) => document.getElementById(id);

const detail = {
  root: null,
  reading: new Reading(),
  arming: new Arming(),
  place: "",

  get id() { return this.root?.dataset.id ?? ""; },
  get digest() { return this.root?.dataset.digest ?? ""; },
  get isHigh() { return this.root?.dataset.risk === "high"; },
  get canAnswer() { return this.root?.dataset.canAnswer === "yes"; },
  get canRefresh() { return this.root?.dataset.canRefresh === "yes"; },

  /** Shows a fragment. What says the same as before stays where it is, stays read and stays armed. */
  show(root) {
    const before = this.root;
    if (before && sameWords(before, root)) {
      const fresh = root.querySelectorAll("[data-live]");
      before.querySelectorAll("[data-live]").forEach((old, index) => {
        if (!old.isEqualNode(fresh[index])) old.replaceWith(fresh[index]);
      });
      return false;
    }
    const isSame = before?.dataset.id === root.dataset.id && Boolean(root.dataset.id);
    place($("detail"), root);
    this.root = root;
    this.reading.show(root.matches(".prompt") ? root : null, isSame);
    this.arming.disarm(isSame ? "it just changed" : "it was just shown");
    if (!isSame) $("detail").scrollTo(0, 0);
    return true;
  },

  clear() {
    $("detail").replaceChildren();
    this.root = null;
    this.reading.show(null, false);
  },

  /** The part of the window in which the prompt can be seen. */
  get view() {
    const box = $("detail").getBoundingClientRect();
    const bar = $("answer-bar").getBoundingClientRect();
    return [Math.max(0, box.top), Math.min(innerHeight, box.bottom, bar.height ? bar.top : innerHeight)];
  },

  /** Whether something is wider than its place. Lines are not broken inside of what a browser takes for one character. */
  get overflows() {
    const pane = $("detail");
    return pane.scrollWidth > pane.clientWidth + 1;
  },

  /** Called several times a second. Returns whether something was read. */
  tick() {
    this.arming.heartbeat();
    const button = $("approve").getBoundingClientRect();
    const now = `${Math.round(button.left)} ${Math.round(button.top)}`;
    if (now !== this.place && button.width) this.arming.disarm("the buttons just moved");
    this.place = now;
    if (!this.canAnswer) return false;
    if (document.visibilityState !== "visible" || document.querySelector("dialog[open]")) {
      this.reading.interrupt();
      return false;
    }
    return this.reading.look(...this.view);
  },

  /** Scrolls to the first line that has not been on screen. */
  readOn() {
    const [part] = this.reading.unread;
    if (!part) return;
    const [top] = this.view;
    const scroller = $("detail").scrollHeight > $("detail").clientHeight ? $("detail") : document.scrollingElement;
    const target = part.getBoundingClientRect().top + this.reading.offset(part) - top - 12;
    scroller.scrollBy({ top: target, behavior: "instant" });
  },

  /** Why the request cannot be denied now, or "". */
  whyNotDeny(time) {
    if (!this.root?.matches(".prompt")) return "No request is open.";
    if (!this.canAnswer) return "There is nothing to answer here.";
    const why = this.arming.refusal(time);
    return why ? `That did not count: ${why}.` : "";
  },

  /** Why the request cannot be approved now apart from the moment that an answer must wait, or "". */
  get obstacle() {
    if (!this.root?.matches(".prompt")) return "No request is open.";
    if (!this.canAnswer) return "There is nothing to answer here.";
    if (this.root.dataset.cannotApprove) return `You can read and deny here: ${sentence(this.root.dataset.cannotApprove, false)}`;
    if (this.root.dataset.fetching === "yes") return "The preview is still being fetched.";
    if (passkeys.missing) return `${passkeys.missing} You can read and deny here.`;
    if (this.overflows) return "Something here is beyond the edge of the window. Make it wider, or approve in the console.";
    const unread = this.reading.unread.length;
    if (unread) return `${unread} part${unread === 1 ? "" : "s"} left to read before you can approve.`;
    return "";
  },
};

/** Whether two fragments say the same apart from what changes with time. */
function sameWords(one, other) {
  const [left, right] = [one, other].map((root) => {
    const copy = root.cloneNode(true);
    for (const live of copy.querySelectorAll("[data-live]")) live.replaceChildren();
    for (const opened of copy.querySelectorAll("details[open]")) opened.removeAttribute("open");
    return copy;
  });
  return left.isEqualNode(right);
}
