/* How the page begins: by the code in the address, or with the session that this tab has. */

const COOKIES = "This browser does not keep cookies for this address, so the gate cannot tell who this is. Allow cookies for localhost, then open the page again.";

/** Takes the one-time code out of the address, so that it is neither seen nor kept in the browser's history. */
function takeCode() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  if (location.hash) history.replaceState(null, "", location.pathname);
  return code;
}

async function start() {
  keysOn = !document.cookie.split("; ").includes(`${KEYS}=off`);
  const code = takeCode();
  if (!gate.restore()) return signOut(COOKIES);
  if (code) {
    try {
      const session = await gate.send("/session", { code });
      gate.keep(session.tab);
      if (session.purpose === "enroll") return enrolment();
    } catch (failure) {
      return signOut(reasonOf(failure));
    }
  } else if (!gate.token) return signOut("This tab has no session with the gate.");
  answers.onAnswered = answered;
  answers.onFailed = notAnswered;
  await go("waiting");
  if (gate.ended) {
    if (code) write($("signed-out-reason"), COOKIES);
    return;
  }
  setInterval(ticked, 100);
  setInterval(countDown, 1000);
  follow();
}

async function answered() {
  await loadDetail(detail.id);
  soon();
}

async function notAnswered(failure) {
  if (failure.status === 401) failed(failure);
  else if (failure.status !== 0) await loadDetail(detail.id);
}

function ticked() {
  detail.tick();
  presence.tell();
  answers.draw();
}

function countDown() {
  for (const time of document.querySelectorAll("time[data-until]")) {
    const seconds = Math.max(0, Math.floor((Date.parse(time.dataset.until) - Date.now()) / 1000));
    if (Number.isNaN(seconds)) continue;
    const words = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
    const place = time.querySelector(".left-words");
    if (place && place.textContent !== words) place.textContent = words;
    time.classList.toggle("soon", seconds < 60);
  }
}

async function closePage() {
  try {
    await gate.send("/session", undefined, "DELETE");
  } catch {
    /* The session then ends by itself. */
  }
  signOut("You closed this page. It can no longer be used to answer.");
}

// enrolment

function enrolment() {
  document.title = "Aileron: add a passkey";
  screen("enrolment");
  $("enrolment-title").focus();
  if (passkeys.missing) enrolmentSays(passkeys.missing);
}

function enrolmentSays(words) {
  $("enrolment-status").textContent = words;
}

async function createPasskey() {
  $("create-passkey").disabled = true;
  enrolmentSays("Your browser asks for it now.");
  try {
    const { publicKey } = await gate.send("/enrolment/options", {});
    $("enrolment-name-line").hidden = !publicKey.user?.name;
    $("enrolment-name").textContent = publicKey.user?.name ?? "";
    const { fingerprint } = await gate.send("/enrolment", await passkeys.create(publicKey));
    $("enrolment-ask").hidden = true;
    enrolmentSays(`The passkey was created: ${fingerprint}. Go back to the terminal, and accept it if it shows the same. Then run aileron-tui page.`);
    gate.keep("");
  } catch (failure) {
    enrolmentSays(failure.status === 401 ? "This link has ended. Run the command in the terminal again." : passkeys.words(failure));
    $("create-passkey").disabled = false;
  }
}

// An address with another code, entered in this tab, does not load the page by itself.
addEventListener("hashchange", () => location.reload());
start();
