/* Which parts of a prompt have been on screen, each line of them for a moment. */

const DWELL = 200;
const SLACK = 1;

class Reading {
  constructor() {
    this.parts = new Map();
    this.samples = [];
  }

  /** Takes the parts of this prompt; those that were read before and say the same stay read. */
  show(root, keeps) {
    const read = new Set();
    if (keeps) for (const [part, state] of this.parts) if (state.read) read.add(words(part));
    this.parts = new Map();
    this.samples = [];
    if (!root) return;
    for (const part of root.querySelectorAll("[data-read]")) {
      if (part.closest("[hidden]")) continue;
      this.parts.set(part, { read: read.has(words(part)), height: 0, spans: [] });
    }
  }

  /** Notes what is between `top` and `bottom` of the window now. */
  look(top, bottom) {
    const now = performance.now();
    const boxes = new Map();
    for (const [part, state] of this.parts) {
      if (state.read || !part.checkVisibility()) continue;
      const box = part.getBoundingClientRect();
      if (box.bottom > top && box.top < bottom) boxes.set(part, [Math.max(0, top - box.top), Math.min(box.height, bottom - box.top), box.height]);
    }
    this.samples.push({ now, boxes });
    const before = this.samples.findLastIndex((sample) => now - sample.now >= DWELL);
    if (before < 0) return false;
    const run = this.samples.slice(before);
    this.samples = run;
    let changed = false;
    for (const [part, [start, end, height]] of boxes) {
      const seen = run.map((sample) => sample.boxes.get(part));
      if (seen.some((box) => !box || box[2] !== height)) continue;
      const from = Math.max(start, ...seen.map((box) => box[0]));
      const to = Math.min(end, ...seen.map((box) => box[1]));
      if (to > from || height === 0) changed = this.#add(this.parts.get(part), from, to, height) || changed;
    }
    return changed;
  }

  /** Forgets what is being looked at: the prompt was covered or out of sight. */
  interrupt() {
    this.samples = [];
  }

  /** The parts that must still be read, top to bottom. What is folded away is summed up by the line above it. */
  get unread() {
    return [...this.parts].filter(([part, state]) => !state.read && part.checkVisibility()).map(([part]) => part);
  }

  /** Where the first unread line of a part is, from its top. */
  offset(part) {
    const state = this.parts.get(part);
    return state?.spans.length && state.spans[0][0] <= SLACK ? state.spans[0][1] : 0;
  }

  #add(state, from, to, height) {
    if (state.height !== height) {
      state.height = height;
      state.spans = [];
    }
    const spans = [];
    for (const span of [...state.spans, [from, to]].sort((one, other) => one[0] - other[0])) {
      const last = spans.at(-1);
      if (last && span[0] <= last[1] + SLACK) last[1] = Math.max(last[1], span[1]);
      else spans.push([...span]);
    }
    state.spans = spans;
    state.read = spans[0][0] <= SLACK && spans[0][1] >= height - SLACK;
    return state.read;
  }
}

/** What a part says, without what changes with time. */
function words(part) {
  const copy = part.cloneNode(true);
  for (const live of copy.querySelectorAll("[data-live]")) live.replaceChildren();
  return copy.outerHTML;
}
