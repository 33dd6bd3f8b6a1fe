/* The screens, the list, the keys and the events of the page. */

const WIDE = matchMedia("(min-width: 60rem)");
const NAME = /^[\w.@-]{1,64}$/;
// A cookie, because opening the page clears what is stored at its origin.
const KEYS = "aileron_keys";
const SURFACES = {
  console: "in the console", page: "on another page", prompt: "at the prompt", notification: "on a notification",
  cli: "by a command", approve: "by a command", deny: "by a command", rule: "by a rule",
};
const pageState = { screen: "", count: null, loads: new Map(), timer: 0, failed: "", alerted: false, search: { waiting: "", history: "" } };

// screens

function screen(name) {
  document.body.dataset.screen = name;
  for (const one of ["opening", "signed-out", "enrolment"]) $(`screen-${one}`).hidden = one !== name;
  $("screen-requests").hidden = name !== "waiting" && name !== "history";
  pageState.screen = name;
}

function signOut(reason) {
  if (gate.ended) return;
  gate.ended = true;
  gate.keep("");
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  detail.clear();
  $("list").replaceChildren();
  banner("");
  document.title = "Aileron: signed out";
  write($("signed-out-reason"), reason);
  screen("signed-out");
  $("signed-out-title").focus();
}

function banner(words) {
  $("banner").hidden = !words;
  write($("banner"), words);
}

function tell(words) {
  $("live").textContent = words;
}

/** Shows what waits, or the history. */
async function go(name) {
  const isHistory = name === "history";
  screen(name);
  for (const [id, on] of [["go-waiting", !isHistory], ["go-history", isHistory]]) set($(id), "aria-current", on ? "page" : null);
  $("page-title").textContent = isHistory ? "History of requests" : "Waiting requests";
  $("list-title").textContent = isHistory ? "History" : "Waiting";
  $("search-label").textContent = isHistory ? "Search the history" : "Filter what waits";
  $("search").placeholder = isHistory ? "Search, e.g. outcome:denied since:monday" : "Filter";
  $("search-hint").textContent = isHistory ? "All words must occur. Filters: since, until, outcome, agent, action, surface." : "Shows only requests that contain what you type.";
  $("search").value = pageState.search[name];
  document.body.classList.remove("detail-open");
  detail.clear();
  answers.said = "";
  answers.draw();
  $("list").replaceChildren();
  await loadList();
  if (!isHistory && WIDE.matches) await openFirst();
}

// loading: of several loads of the same thing, only the newest counts

async function load(key, path, use) {
  const turn = (pageState.loads.get(key) ?? 0) + 1;
  pageState.loads.set(key, turn);
  const at = pageState.screen;
  try {
    const root = await gate.fragment(path);
    if (pageState.loads.get(key) !== turn || pageState.screen !== at || gate.ended) return;
    use(root);
    if (pageState.failed === key && answers.connected) banner("");
    pageState.failed = pageState.failed === key ? "" : pageState.failed;
  } catch (failure) {
    pageState.failed = key;
    failed(failure);
  }
}

function failed(failure) {
  if (failure.status === 401) signOut(reasonOf(failure));
  else if (failure.status !== 0) banner(failure.message);
}

/** Why a session does not count; the screen itself says how to open the page again. */
function reasonOf(failure) {
  return failure.message.replace(/ Open it again with .*$/, "");
}

async function loadList() {
  const isHistory = pageState.screen === "history";
  set($("list"), "aria-busy", "true");
  const path = isHistory ? `/history?search=${encodeURIComponent(pageState.search.history)}` : "/waiting";
  await load("list", path, (root) => {
    place($("list"), root);
    if (isHistory) mark();
    else counted(Number(root.dataset.count));
  });
  set($("list"), "aria-busy", null);
}

async function loadOlder(before) {
  const path = `/history?search=${encodeURIComponent(pageState.search.history)}&before=${encodeURIComponent(before)}`;
  await load("older", path, (root) => {
    const old = $("list").querySelector(".history");
    old.querySelector(".more")?.remove();
    const rows = [...root.querySelectorAll(".rows > li")];
    old.querySelector(".rows")?.append(...rows);
    const more = root.querySelector(".more");
    if (more) old.append(more);
    rows[0]?.querySelector("button").focus();
  });
}

function counted(count) {
  const before = pageState.count;
  pageState.count = count;
  $("waiting-count").hidden = !count;
  $("waiting-count").textContent = count || "";
  if (!count) pageState.alerted = false;
  drawTitle();
  if (before !== null && count > before) tell(`${count - before} new. ${count} waiting.`);
  filter();
  mark();
}

/** The title has a mark from an alert until somebody does something here. */
function drawTitle() {
  const { alerted, count } = pageState;
  document.title = `${alerted ? "● " : ""}${count ? `(${count}) Aileron: waiting` : "Aileron"}`;
}

function noticed() {
  presence.noticed();
  if (!pageState.alerted || gate.ended) return;
  pageState.alerted = false;
  drawTitle();
}

function filter() {
  const wanted = pageState.search.waiting.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const item of $("list").querySelectorAll(".waiting .rows > li")) {
    const text = item.textContent.toLowerCase();
    item.hidden = !wanted.every((word) => text.includes(word));
    found += !item.hidden;
  }
  const none = $("list").querySelector(".none-found");
  if (none) none.hidden = found > 0;
}

const rows = () => [...$("list").querySelectorAll("li:not([hidden]) > .row")];
const rowId = (row) => row.dataset.open ?? row.dataset.record;
const shownId = () => detail.root?.dataset.id ?? detail.root?.dataset.record ?? "";

function mark() {
  for (const row of rows()) set(row, "aria-current", rowId(row) === shownId() ? "true" : null);
}

async function openFirst() {
  const row = rows()[0];
  if (row) await open(rowId(row), false);
}

async function open(id, focuses = true) {
  answers.said = "";
  if (focuses && !WIDE.matches && !document.body.classList.contains("detail-open")) history.pushState({ detail: true }, "");
  await loadDetail(id);
  if (!focuses) return;
  document.body.classList.add("detail-open");
  if (!WIDE.matches) {
    scrollTo(0, 0);
    detail.root?.querySelector(".question")?.focus({ preventScroll: true });
  }
}

async function loadDetail(id) {
  const isHistory = pageState.screen === "history";
  await load("detail", `/${isHistory ? "history" : "requests"}/${encodeURIComponent(id)}`, (root) => {
    const isNew = id !== detail.id;
    const changed = detail.show(root);
    mark();
    if (changed && !isNew && !answers.busy) tell(detail.canAnswer ? "The request on screen has changed. Read it again." : root.querySelector(".outcome-words")?.textContent ?? "");
    presence.tell();
  });
  drawNext();
  answers.draw();
}

function drawNext() {
  const waiting = rows().some((row) => row.dataset.open && row.dataset.open !== detail.id);
  $("next").hidden = detail.canAnswer || !waiting;
}

function closeDetail() {
  document.body.classList.remove("detail-open");
  if (WIDE.matches) return;
  presence.tell();
  const row = rows().find((one) => rowId(one) === shownId());
  (row ?? $("list-title")).focus();
}

function step(by) {
  const all = rows();
  const now = all.findIndex((row) => rowId(row) === shownId());
  const row = all[Math.max(0, Math.min(all.length - 1, now < 0 ? 0 : now + by))];
  if (!row) return;
  row.scrollIntoView({ block: "nearest" });
  open(rowId(row));
}

async function next() {
  if (pageState.screen !== "waiting") return;
  const all = rows();
  const now = all.findIndex((row) => rowId(row) === shownId());
  const row = all[(now + 1) % all.length];
  if (row && rowId(row) !== shownId()) await open(rowId(row));
}

// events

function soon() {
  pageState.timer ||= setTimeout(async () => {
    pageState.timer = 0;
    if (pageState.screen !== "waiting") return countOnly();
    await loadList();
    drawNext();
    if (!shownId() && WIDE.matches) await openFirst();
  }, 50);
}

async function countOnly() {
  await load("count", "/waiting", (root) => counted(Number(root.dataset.count)));
}

function event(name, data) {
  if (name === "open") {
    connected(true);
    soon();
    presence.sent = "";
    presence.tell();
    if (detail.id && pageState.screen === "waiting") loadDetail(detail.id);
    return;
  }
  if (name === "ended") return signOut("The gate was stopped, or it ended this session.");
  if (name === "alert" && data.surface === "page") {
    pageState.alerted = true;
    drawTitle();
    tell("A request needs an answer.");
  }
  if (data.id && data.id === detail.id && pageState.screen === "waiting") {
    const who = NAME.test(data.by ?? "") ? ` by ${data.by === "default" ? '"default"' : data.by}` : "";
    const where = `Answered elsewhere${SURFACES[data.surface] ? `, ${SURFACES[data.surface]}` : ""}${who}. Nothing was sent from here.`;
    const isOver = name === "resolved" && detail.canAnswer;
    if (answers.busy) { // it is loaded once the answer is known
      const { digest, state } = detail.root.dataset;
      const changed = (data.digest ?? digest) !== digest || (data.state ?? state) !== state;
      if (isOver || changed) answers.interrupt(isOver ? where : "The request changed meanwhile. Nothing was sent.");
      return soon();
    }
    if (isOver) answers.said = where;
    loadDetail(data.id);
  }
  soon();
}

function connected(is) {
  if (answers.connected === is) return;
  answers.connected = is;
  $("link").textContent = is ? "connected" : "not connected";
  set($("link"), "data-lost", is ? null : "");
  banner(is ? "" : "The connection to the gate is lost. Nothing can be answered here until it is back.");
  detail.arming.disarm("the connection just changed");
  answers.draw();
}

async function follow() {
  let wait = 250;
  while (!gate.ended) {
    try {
      await gate.listen((name, data) => { wait = 250; event(name, data); });
    } catch (failure) {
      if (failure.status === 401) return failed(failure);
    }
    if (gate.ended) return;
    connected(false);
    await new Promise((done) => { setTimeout(done, wait); });
    wait = Math.min(wait * 2, 4000);
  }
}
