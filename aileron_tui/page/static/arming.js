/* When an answer counts, by the rules of the console: what was being typed or clicked must not answer a new prompt. */

class Arming {
  constructor(seconds = 0.7) {
    this.wait = seconds * 1000;
    this.at = performance.now();
    this.why = "it was just shown";
    this.beat = performance.now();
  }

  /** Something happened after which answers do not count for a moment. */
  disarm(why) {
    this.at = performance.now();
    this.why = why;
  }

  /** The page is running. A long gap means that it was paused, and that input may be old. */
  heartbeat() {
    const now = performance.now();
    if (now - this.beat > 2 * this.wait) this.disarm("the page was paused");
    this.beat = now;
  }

  /** Why an answer that was given at `time` does not count, or "". */
  refusal(time = performance.now()) {
    this.heartbeat();
    return Math.min(time, performance.now()) - this.at < this.wait ? this.why : "";
  }
}
