/* Whether somebody is at this page, and which request they read, by the rules of the console. */

const HERE = 300_000;
const HERE_BEHIND = 120_000;
const READS = 120_000;
const JUST_BEFORE = 5_000;

const presence = {
  input: performance.now(),
  shown: "",
  since: 0,
  sent: "",

  /** Somebody did something here. Opening the page is the first sign of them. */
  noticed() {
    this.input = performance.now();
    this.tell();
  },

  /** What is known now about who is here. A request that appears by itself is not being read. */
  report(id) {
    const now = performance.now();
    if (id !== this.shown) [this.shown, this.since] = [id, now];
    const idle = now - this.input;
    const inFront = document.hasFocus();
    const awake = document.visibilityState === "visible" && idle < (inFront ? HERE : HERE_BEHIND);
    const reads = awake && inFront && idle < READS && this.input >= this.since - JUST_BEFORE;
    return { awake, reading: reads ? id : "" };
  },

  /** Tells the gate if that has changed, so that it alerts others in time and they see who reads. */
  tell() {
    if (gate.ended || !answers.connected) return;
    const isShown = pageState.screen === "waiting" && detail.canAnswer && (WIDE.matches || document.body.classList.contains("detail-open"));
    const report = this.report(isShown ? detail.id : "");
    const words = JSON.stringify(report);
    if (words === this.sent) return;
    this.sent = words;
    gate.send("/presence", report).catch(() => {}); // it is told again once the connection is back
  },
};
