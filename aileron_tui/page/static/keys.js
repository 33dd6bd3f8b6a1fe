/* Keys and clicks. Enter and space never answer, unless they press a button that was chosen for a moment. */

const ANSWERS = { approve: (event) => answers.approve(event), deny: (event) => answers.deny(event), "confirm-approve": (event) => answers.confirmed(event) };
let keysOn = true;

const actions = {
  a: (event) => answers.approve(event),
  d: (event) => answers.deny(event),
  D: (event) => { if (answers.counts(event, false)) answers.askReason(); },
  Enter: () => detail.readOn(),
  j: () => step(1),
  k: () => step(-1),
  n: () => next(),
  r: () => refresh(),
  o: () => { for (const one of detail.root?.querySelectorAll("details.fold") ?? []) one.open = !one.open; },
  "/": () => $("search").focus(),
  h: () => go(pageState.screen === "history" ? "waiting" : "history"),
  Escape: () => ($("detail").contains(document.activeElement) || document.body.classList.contains("detail-open") ? back() : undefined),
  "?": () => showKeys(),
};

function back() {
  if (history.state?.detail) history.back();
  else closeDetail();
}

async function refresh() {
  if (!detail.canRefresh || !answers.connected) return;
  answers.say("Fetching the preview again…");
  try {
    await gate.send(`/requests/${encodeURIComponent(detail.id)}/refresh`, {});
    answers.say("");
  } catch (failure) {
    answers.say(failure.message);
    failed(failure);
  }
}

function showKeys() {
  $("keys-on").checked = keysOn;
  $("keys-dialog").showModal();
}

const onRequests = () => pageState.screen === "waiting" || pageState.screen === "history";
const isField = (element) => element?.matches?.("input, textarea, select");
const isModifier = (key) => ["Shift", "Control", "Alt", "Meta", "CapsLock", "Fn"].includes(key);

function keyPressed(pressed) {
  const { key, target } = pressed;
  if (isModifier(key) || pressed.isComposing) return;
  const dialog = document.querySelector("dialog[open]");
  if (dialog?.id === "reason-dialog" && key === "Enter" && pressed.ctrlKey) {
    pressed.preventDefault();
    answers.sendReason();
    return;
  }
  const onButton = (key === "Enter" || key === " ") && target.closest?.("button, summary");
  const isAnswer = (onButton && onButton.id in ANSWERS) || (keysOn && !isField(target) && (key === "a" || (!dialog && (key === "d" || key === "D"))));
  if (pressed.repeat) {
    if (isAnswer) {
      detail.arming.disarm("a key was held down");
      pressed.preventDefault();
    }
    return;
  }
  if (!isAnswer || pressed.ctrlKey || pressed.metaKey || pressed.altKey) detail.arming.disarm("you were typing");
  if (pressed.ctrlKey || pressed.metaKey || pressed.altKey || onButton || gate.ended) return;
  if (dialog) {
    if (dialog.id === "confirm-dialog" && key === "a" && keysOn) answers.confirmed(pressed);
    return;
  }
  if (isField(target)) {
    if (key === "Escape") {
      if (target.value) clearSearch();
      target.blur();
    }
    return;
  }
  if (!onRequests() || (!keysOn && key !== "Escape" && key !== "Enter")) return;
  const action = actions[key];
  if (!action || (key === "Enter" && target.closest?.("a, button, summary"))) return;
  pressed.preventDefault();
  action(pressed);
}

function pointerPressed(pressed) {
  const button = pressed.target.closest?.("button");
  const isAnswer = Boolean(button && button.id in ANSWERS);
  answers.pressed = { button, refusal: isAnswer ? detail.arming.refusal(pressed.timeStamp) : "" };
  if (!isAnswer) detail.arming.disarm("you just clicked");
}

function focused(gained) {
  // A button that was reached by the keyboard must be in focus for a moment; a pointer press was checked by itself.
  if (gained.target.id in ANSWERS && answers.pressed.button !== gained.target) detail.arming.disarm("you just moved to this button");
}

function clicked(click) {
  const button = click.target.closest?.("button");
  if (!button) return;
  if (button.id in ANSWERS) {
    if (click.detail > 0 && answers.pressed.button !== button) return;
    ANSWERS[button.id](click);
    answers.pressed = { button: null, refusal: "" };
  } else if (button.id === "deny-reason") {
    if (detail.canAnswer && answers.connected && !answers.busy) answers.askReason();
  } else if (button.dataset.open || button.dataset.record) open(rowId(button));
  else if (button.dataset.older) loadOlder(button.dataset.older);
  else pressedButton(button.id);
}

function pressedButton(id) {
  const buttons = {
    "go-waiting": () => go("waiting"),
    "go-history": () => go("history"),
    "show-keys": showKeys,
    "close-page": closePage,
    back,
    next,
    refresh,
    "read-on": () => detail.readOn(),
    "reason-cancel": () => $("reason-dialog").close(),
    "reason-send": () => answers.sendReason(),
    "confirm-cancel": () => $("confirm-dialog").close(),
    "passkey-cancel": () => $("passkey-dialog").close(),
    "keys-close": () => $("keys-dialog").close(),
    "create-passkey": createPasskey,
  };
  buttons[id]?.();
}

let searching = 0;
function searched() {
  const name = pageState.screen;
  pageState.search[name] = $("search").value;
  if (name === "waiting") return filter();
  clearTimeout(searching);
  searching = setTimeout(loadList, 200);
}

function clearSearch() {
  $("search").value = "";
  searched();
}

for (const sign of ["keydown", "pointerdown", "wheel"]) addEventListener(sign, noticed, { capture: true, passive: true });
addEventListener("focus", noticed);
addEventListener("keydown", keyPressed);
addEventListener("pointerdown", pointerPressed, true);
addEventListener("click", clicked);
addEventListener("focusin", focused);
addEventListener("focus", () => detail.arming.disarm("the window just gained focus"));
addEventListener("paste", () => detail.arming.disarm("text was pasted"));
addEventListener("popstate", closeDetail);
// Opening the page in another tab clears what is stored.
addEventListener("pagehide", () => { if (gate.token) gate.keep(gate.token); });
document.addEventListener("visibilitychange", () => {
  detail.arming.disarm("the page was just shown");
  presence.tell();
});
$("search").addEventListener("input", searched);
$("search-form").addEventListener("submit", (submitted) => submitted.preventDefault());
$("reason-form").addEventListener("submit", (submitted) => submitted.preventDefault());
$("keys-on").addEventListener("change", () => {
  keysOn = $("keys-on").checked;
  document.cookie = `${KEYS}=${keysOn ? "on" : "off"}; path=/page; max-age=31536000; samesite=strict`;
});
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => detail.arming.disarm("a dialog was just closed"));
}
