/* The session of this tab with the gate, its calls and its events. */

const TOKEN = "aileron-tab";
// The gate sends something at least every 15 seconds.
const SILENCE = 40_000;

/** A reply that is not what was asked for. `status` is 0 if there was none. */
class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const gate = {
  token: "",
  ended: false,

  /** Reads the token of this tab. Returns whether the browser keeps anything for this page at all. */
  restore() {
    try {
      this.token = sessionStorage.getItem(TOKEN) ?? "";
      return navigator.cookieEnabled;
    } catch {
      return false;
    }
  },

  keep(token) {
    this.token = token;
    try {
      if (token) sessionStorage.setItem(TOKEN, token);
      else sessionStorage.removeItem(TOKEN);
    } catch {
      /* The token then lasts until the tab is loaded again. */
    }
  },

  async fetch(path, options = {}) {
    const headers = { ...options.headers };
    if (this.token) headers["X-Aileron-Tab"] = this.token;
    if (options.body !== undefined) headers["Content-Type"] = "application/json";
    let reply;
    try {
      reply = await fetch(`/page${path}`, {
        ...options, headers, cache: "no-store", credentials: "same-origin", redirect: "error", referrerPolicy: "no-referrer",
        body: options.body === undefined ? undefined : JSON.stringify(options.body),
      });
    } catch (failure) {
      if (failure.name === "AbortError") throw failure;
      throw new Refused(0, "unreachable", "The gate cannot be reached.");
    }
    if (reply.ok) return reply;
    let error = {};
    try {
      error = (await reply.json()).error ?? {};
    } catch {
      /* Not every refusal has a body. */
    }
    throw new Refused(reply.status, String(error.code ?? ""), sentence(error.message) || `The gate refused this (${reply.status}).`);
  },

  async fragment(path) {
    return fragment(await (await this.fetch(path)).text());
  },

  async send(path, body, method = "POST") {
    const reply = await this.fetch(path, { method, body });
    return reply.status === 204 ? {} : reply.json();
  },

  /** Calls `on(name, data)` for every event until the stream ends, or has been silent for too long. */
  async listen(on) {
    const abort = new AbortController();
    let silence = 0;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), SILENCE);
    };
    heard();
    try {
      await this.follow(on, heard, abort.signal);
    } finally {
      clearTimeout(silence);
    }
  },

  async follow(on, heard, signal) {
    const reply = await this.fetch("/events", { signal, headers: { Accept: "text/event-stream" } });
    on("open", {});
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      heard();
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const lines = block.split(/\r?\n/);
        const field = (name) => lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim());
        const data = field("data").join("\n");
        if (data) on(field("event")[0] ?? "message", JSON.parse(data));
      }
    }
  },
};

/** The text as a sentence. */
function sentence(text, begins = true) {
  if (typeof text !== "string" || !text) return "";
  const capital = begins ? text[0].toUpperCase() + text.slice(1) : text;
  return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}

/** Writes a sentence of the gate; what it has in backquotes is a command. */
function write(element, text) {
  element.replaceChildren(...text.split("`").map((part, index) => {
    if (index % 2 === 0) return document.createTextNode(part);
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  }));
}
