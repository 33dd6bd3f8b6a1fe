/* Answering: arming, confirmation of high risk, passkey, denial. An answer that comes too early is dropped, never kept. */

const answers = {
  busy: false,
  said: "",
  drawn: "",
  connected: false,
  pressed: { button: null, refusal: "" },
  onAnswered: () => {},
  onFailed: () => {},

  /** Writes the status line and which buttons can be used. */
  draw() {
    const bar = $("answer-bar");
    const isPrompt = Boolean(detail.root?.matches(".prompt"));
    if (bar.hidden === isPrompt) bar.hidden = !isPrompt;
    if (!isPrompt) return;
    const waits = detail.canAnswer;
    const obstacle = detail.obstacle;
    const armed = !detail.arming.refusal();
    for (const id of ["approve", "deny", "deny-reason"]) {
      const can = waits && this.connected && !this.busy && (id !== "approve" || !obstacle);
      set($(id), "aria-disabled", can ? null : "true");
      set($(id), "data-armed", can && armed ? "" : null);
      $(id).hidden = !waits;
    }
    $("refresh").hidden = !detail.canRefresh;
    $("read-on").hidden = !(waits && detail.reading.unread.length && !detail.root.dataset.cannotApprove);
    const ready = detail.isHigh ? "High risk: you will be asked once more." : "You can answer now.";
    const words = this.said || (waits ? (this.connected ? obstacle || ready : "Not connected: nothing can be answered.") : "");
    if (this.drawn !== words) write($("answer-status"), words);
    this.drawn = words;
  },

  say(words) {
    this.said = words;
    this.draw();
  },

  /** Whether an answer that was given by this event counts; says why not. */
  counts(event, needsReading) {
    const down = event.type === "click" && event.detail > 0 ? this.pressed.refusal : "";
    const why = !event.isTrusted ? "That did not count."
      : !this.connected ? "Not connected: nothing can be answered."
      : this.busy ? "An answer is on its way."
      : (needsReading && detail.obstacle) || (down && `That did not count: ${down}.`) || detail.whyNotDeny(event.timeStamp);
    if (!why) return true;
    if (why.startsWith("That did not count")) detail.arming.disarm("your last answer came too early");
    this.said = "";
    this.say(why === detail.obstacle ? "" : why);
    setTimeout(() => this.said === why && this.say(""), 2500);
    return false;
  },

  approve(event) {
    if (!this.counts(event, true)) return;
    if (detail.isHigh) this.confirm();
    else this.sign(detail.id, detail.digest);
  },

  deny(event) {
    if (this.counts(event, false)) this.sendDenial(detail.id, detail.digest, "");
  },

  // high risk

  confirm() {
    const { id, digest, root } = detail;
    copy(root.querySelector(".targets-action .foreign"), $("confirm-action"));
    copy(root.querySelector(".targets-risk"), $("confirm-risk"));
    copy(root.querySelector(".targets-fields"), $("confirm-targets"));
    $("confirm-status").textContent = "";
    const dialog = $("confirm-dialog");
    dialog.dataset.for = `${id} ${digest}`;
    dialog.showModal();
    dialog.scrollTo(0, 0);
    detail.arming.disarm("you were just asked once more");
  },

  confirmed(event) {
    const dialog = $("confirm-dialog");
    const down = event.type === "click" && event.detail > 0 ? this.pressed.refusal : "";
    const why = !event.isTrusted ? "it was not you" : down || detail.arming.refusal(event.timeStamp);
    if (why) {
      detail.arming.disarm("your last answer came too early");
      $("confirm-status").textContent = `That did not count: ${why}.`;
      return;
    }
    dialog.close();
    if (dialog.dataset.for === `${detail.id} ${detail.digest}` && detail.canAnswer) this.sign(detail.id, detail.digest);
    else this.say("The request changed meanwhile. Nothing was approved.");
  },

  // passkey

  async sign(id, digest) {
    const abort = new AbortController();
    const dialog = $("passkey-dialog");
    dialog.addEventListener("close", () => abort.abort(), { once: true, signal: abort.signal });
    await this.run(async () => {
      dialog.showModal();
      try {
        const { attempt, publicKey } = await gate.send(`/requests/${encodeURIComponent(id)}/challenge`, { verdict: "approve", reason: "", digest });
        const assertion = await passkeys.sign(publicKey, abort.signal);
        return await gate.send(`/requests/${encodeURIComponent(id)}/answer`, { attempt, assertion });
      } finally {
        dialog.close();
      }
    });
  },

  // denial

  askReason() {
    copy(detail.root.querySelector(".targets-action .foreign"), $("reason-action"));
    $("reason").value = "";
    $("reason-dialog").dataset.for = `${detail.id} ${detail.digest}`;
    $("reason-dialog").showModal();
    $("reason").focus();
  },

  sendReason() {
    const dialog = $("reason-dialog");
    const [id, digest] = dialog.dataset.for.split(" ");
    const reason = $("reason").value.trim();
    dialog.close();
    if (id === detail.id && digest === detail.digest && detail.canAnswer && this.connected && !this.busy) this.sendDenial(id, digest, reason);
    else this.say("The request changed meanwhile. Nothing was sent.");
  },

  async sendDenial(id, digest, reason) {
    await this.run(() => gate.send(`/requests/${encodeURIComponent(id)}/deny`, { digest, reason }));
  },

  /** Sends one answer at a time and says what became of it. */
  async run(send) {
    this.busy = true;
    this.say("Sending…");
    try {
      const reply = await send();
      this.say(sentence(reply.message) || "Recorded.");
      await this.onAnswered();
    } catch (failure) {
      this.say(passkeys.words(failure));
      await this.onFailed(failure);
    } finally {
      this.busy = false;
      detail.arming.disarm("you just answered");
      this.draw();
    }
  },
};

function copy(from, to) {
  to.replaceChildren(...(from ? [...from.cloneNode(true).childNodes] : []));
}

function set(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}
