// The rating page: shows one item after another, stores answers, and continues while offline.

import {Keys} from "./keys.js";
import {newId, Queue, ROOT} from "./queue.js";
import {gettext} from "./texts.js";

const MOST_AHEAD = 3; // items reserved and loaded ahead
const NEAR_THE_END = 40; // remaining items; below this, only one is reserved ahead
const IDLE = 600_000; // maximum milliseconds between two events that count as active time

const find = id => document.getElementById(id);
const page = find("page");
const session = JSON.parse(find("state").textContent);
const {start} = await import(`${ROOT}/static/kinds/${session.kind}/page.js`);

let current = session; // {task, progress, training} of the displayed item
let latest = session; // the same of the last item; `current` is an earlier one after going back
let prefetched = [];
let fetching = null;
let item = null; // {handle, abort, isNew, isCounted} of the displayed item
let visited = history.state?.visited ?? [];
const loaded = new Map(); // url -> image, so that the browser keeps it

const queue = await Queue.open(session, showSaving);
const keys = new Keys([
  {key: "s", label: gettext("Skip this item"), run: () => skip()},
  {key: "b", label: gettext("Previous item"), run: () => goBack()},
  {key: "h", label: gettext("Earlier answers"), run: () => location.assign(`${ROOT}/history`)},
  {key: "?", label: gettext("Instructions and shortcuts"), run: () => showHelp()},
]);

// --- Header -------------------------------------------------------------------------------------

function showSaving({waiting, state, isKept, why, entry, problem, isElsewhere}) {
  if (problem) showNote(gettext("An answer was not accepted: {problem}", {problem}), "bad");
  if (isElsewhere && entry.body.assignment === current.task?.assignment) reloadItem();
  const shown = waiting === 0 ? "saved" : state ?? find("saved").dataset.state;
  find("saved").dataset.state = shown;
  find("saved").dataset.waiting = waiting;
  find("saved-text").textContent = {
    saved: gettext("Saved"),
    sending: gettext("Saving …"),
    offline: gettext("Waiting for connection: {count}", {count: waiting}),
    "signed-out": gettext("Not sent: {count}", {count: waiting}),
  }[shown] ?? "";
  if (shown === "signed-out") {
    showNote(gettext("You are signed out. Open your link again; your answers are stored here until then."), "bad");
  } else if (shown === "offline") {
    const trouble = why ? gettext("The server cannot save right now: {why}.", {why}) : gettext("No connection.");
    showNote(
      isKept
        ? `${trouble} ${gettext("Keep going: your answers are stored in this browser and sent automatically.")}`
        : `${trouble} ${gettext("This browser cannot store answers. Keep this page open until everything is saved.")}`,
      "warn",
    );
  } else if (shown === "saved" && find("banner").dataset.kind === "warn") {
    showNote("");
  }
}

function showNote(text, kind = "") {
  const banner = find("banner");
  banner.hidden = !text;
  banner.textContent = text;
  banner.dataset.kind = kind;
}

function showProgress() {
  const {task, progress, training} = current;
  const isTraining = task?.is_training ?? false;
  const [done, total] = isTraining
    ? [training.done, training.total]
    : [progress.done, progress.done + progress.left_for_me];
  find("progress").max = Math.max(1, total);
  find("progress").value = done;
  find("count").textContent = isTraining
    ? gettext("Practice {number} of {total}", {number: done + 1, total})
    : gettext("{done} of {total}", {done, total});
  document.body.classList.toggle("training", isTraining);
  find("skip-button").hidden = isTraining; // practice items cannot be skipped
}

const say = text => {
  find("live").textContent = "";
  requestAnimationFrame(() => (find("live").textContent = text));
};

// --- Items --------------------------------------------------------------------------------------

async function show(next) {
  item?.abort.abort();
  current = next;
  const {task} = current;
  for (const {path, body} of await queue.getEntries()) {
    if (path === "/api/answers" && body.assignment === task.assignment) {
      task.answers[body.image ?? "item"] = body.value;
    }
  }
  find("feedback").hidden = true;
  find("next").disabled = false;
  if (find("banner").dataset.kind !== "warn") showNote("");
  if (task.is_training) showNote(gettext("Practice: you see the correct answer after each item."), "info");
  showProgress();
  const abort = new AbortController();
  find("task").replaceChildren(page.content.cloneNode(true));
  item = {abort, handle: null, isNew: Object.keys(task.answers).length === 0};
  item.handle = start(task, makeApi(task, abort.signal)) ?? {};
  find("task").dataset.assignment = task.assignment;
  find("back-button").disabled = visited.length === 0;
  find("task").focus({preventScroll: true});
  find("task").scrollTo(0, 0);
  prefetch();
}

function makeApi(task, signal) {
  let lastTick = performance.now();
  let activeTime = 0;
  let isVisible = !document.hidden; // since the last tick
  const tick = () => {
    const time = performance.now();
    if (isVisible) activeTime += Math.min(time - lastTick, IDLE);
    lastTick = time;
    isVisible = !document.hidden;
  };
  for (const kind of ["pointerdown", "pointermove", "keydown", "visibilitychange"]) {
    document.addEventListener(kind, tick, {signal, passive: true, capture: true});
  }
  const seconds = () => {
    tick();
    return activeTime / 1000;
  };
  return {
    root: find("main"),
    signal,
    who: session.who, // separates drafts of other people and studies
    say,
    seconds,
    shortcuts: list => keys.set(list),
    save(image, value) {
      const spent = Math.round(seconds() * 1000) / 1000;
      activeTime = 0;
      task.answers[image ?? "item"] = value;
      return queue.add("/api/answers", {
        client_id: newId(), assignment: task.assignment, image: image ?? null, value, seconds: spent,
      });
    },
    done: () => done(),
    skip: () => skip(),
  };
}

let isMoving = false;

/** Run one move at a time: a second press of Enter must not skip the next item. */
function asMove(run) {
  return async (...args) => {
    if (isMoving) return;
    isMoving = true;
    try {
      await run(...args);
    } catch {
      showNote(gettext("No connection. Your answers are stored; the next item loads once you are online again."), "warn");
      retryLater(() => run(...args));
    } finally {
      isMoving = false;
    }
  };
}

let retry = 0;

/** Retry a move, unless the person has moved to another item in the meantime. */
function retryLater(run) {
  const from = current;
  clearTimeout(retry);
  retry = setTimeout(() => current === from && asMove(run)(), 3000);
}

const done = asMove(async () => {
  if (current.task.is_training) return showFeedback();
  countItem("done");
  return forward();
});

const skip = asMove(async () => {
  if (current.task.is_training) return;
  if (item.isCounted !== "skipped") queue.add("/api/skip", {assignment: current.task.assignment});
  countItem("skipped");
  say(gettext("Skipped"));
  return forward();
});

/** Count a new item immediately as "done" or "skipped"; the server counts it when answers arrive. */
function countItem(outcome) {
  if (current !== latest || !item.isNew || item.isCounted) return;
  item.isCounted = outcome;
  current.progress[outcome] += 1;
  current.progress.left_for_me = Math.max(0, current.progress.left_for_me - 1);
}

async function forward() {
  const from = current;
  const next = current === latest ? await getNext() : await fetchJson(`/api/tasks/${latest.task.assignment}`, {fallback: latest});
  if (current !== from) return;
  if (!next?.task) {
    location.assign(`${ROOT}/thanks`);
    return;
  }
  visited.push(from.task.assignment);
  latest = next;
  history.pushState({assignment: next.task.assignment, visited}, "", `${ROOT}/work`);
  await show(next);
}

async function getNext() {
  await fetching;
  const {progress} = current;
  const ready = prefetched.shift() ?? (current.task.is_training === false && await fetchJson("/api/next", {send: makeRequest(current)}));
  if (ready?.task) return {...ready, progress: {...ready.progress, ...progress}};
  await queue.flush();
  if ((await queue.getEntries()).length) throw new Error("offline");
  return fetchJson("/api/next", {send: {}});
}

const makeRequest = state => ({after: state.task.assignment});

/** Fetch JSON with GET, or with POST if `send` is set; return `fallback` without a connection. */
async function fetchJson(url, {send = null, fallback = null} = {}) {
  let response;
  try {
    response = await (send ? queue.post(url, send) : fetch(ROOT + url, {signal: AbortSignal.timeout(20_000)}));
    if (response.status >= 500) throw new Error(String(response.status));
  } catch (error) {
    if (fallback) return fallback;
    throw error;
  }
  if (response.ok) return response.json();
  location.assign(`${ROOT}/work`); // this page shows the error
  return new Promise(() => {});
}

/** Reserve and load the next items, so that they are shown without delay, even offline. */
function prefetch() {
  if (fetching || latest.task.is_training) return;
  const {study_done, study_total} = latest.progress;
  const most = study_total - study_done > NEAR_THE_END ? MOST_AHEAD : 1;
  fetching = (async () => {
    while (prefetched.length < most) {
      const response = await queue.post("/api/next", makeRequest(prefetched.at(-1) ?? latest));
      if (!response.ok) break;
      const next = await response.json();
      if (!next.task || next.task.is_training) break;
      prefetched.push(next);
      await Promise.all(next.task.images.map(({url}) => load(url)));
      find("task").dataset.ahead = prefetched.length;
    }
  })().catch(() => {}).finally(() => (fetching = null));
}

function load(url) {
  if (!loaded.has(url)) {
    const image = new Image();
    image.src = url;
    loaded.set(url, image);
    if (loaded.size > 400) loaded.delete(loaded.keys().next().value);
  }
  return loaded.get(url).decode().catch(() => loaded.delete(url));
}

// --- Training -----------------------------------------------------------------------------------

async function showFeedback() {
  const {task} = current;
  if (!(await queue.flush())) throw new Error("offline");
  const response = await fetchJson(`/api/feedback/${task.assignment}`);
  const {total, right, tries_left} = response.training;
  let text = response.is_right ? gettext("Correct.") : gettext("Not quite. The correct answer is shown.");
  const result = gettext("{right} of {total} correct.", {right, total});
  if (response.is_over) text += ` ${result}`;
  if (response.is_over && response.is_passed) text += ` ${gettext("Practice is over. Your answers count from now on.")}`;
  else if (response.is_over && tries_left > 1) text += ` ${gettext("Not passed. Practice starts again.")}`;
  item.handle.mark?.(response.expected);
  for (const control of find("main").querySelectorAll(".panel :is(button, input), #next")) {
    control.disabled = true;
  }
  showNote("");
  find("feedback-text").textContent = text;
  find("feedback").dataset.kind = response.is_right ? "good" : "bad";
  find("feedback").hidden = false;
  keys.set([]);
  find("feedback-next").focus();
  say(text);
}

find("feedback-next").addEventListener("click", asMove(async () => {
  prefetched = [];
  const next = await fetchJson("/api/next", {send: {}});
  if (!next.task) {
    location.assign(`${ROOT}/thanks`);
    return;
  }
  latest = next;
  history.replaceState({assignment: next.task.assignment, visited}, "", `${ROOT}/work`);
  await show(next);
}));

// --- Back, other tabs, help -----------------------------------------------------------------------

const goBack = asMove(async () => {
  if (visited.length) history.back();
  else location.assign(`${ROOT}/history`);
});

addEventListener("popstate", async ({state}) => {
  if (!state?.assignment) return;
  visited = state.visited ?? [];
  if (state.assignment === latest.task.assignment) {
    await show(latest);
    return;
  }
  const url = `${ROOT}/work/${state.assignment}`;
  const earlier = await fetchJson(`/api/tasks/${state.assignment}`).catch(() => null);
  if (!earlier) {
    showNote(gettext("No connection. You can open earlier items once you are online again."), "warn");
    return;
  }
  if (history.state?.assignment !== state.assignment) return; // the person has moved on
  await show(earlier);
  history.replaceState(state, "", url); // the address of the displayed item
});

/** Reload the displayed item, which was answered in another tab. */
async function reloadItem() {
  const fresh = await fetchJson(`/api/tasks/${current.task.assignment}`).catch(() => null);
  if (!fresh?.task || fresh.task.assignment !== current.task.assignment) return;
  if (current === latest) latest = fresh;
  await show(fresh);
  showNote(gettext("You answered this in another tab. Your answer is shown."), "info");
}

function showHelp() {
  keys.list(find("keys").tBodies[0]);
  find("keys-on").checked = keys.areOn;
  find("help").showModal();
}

find("help-button").addEventListener("click", showHelp);
find("keys-on").addEventListener("change", ({target}) => (keys.areOn = target.checked));
find("back-button").addEventListener("click", goBack);
find("skip-button").addEventListener("click", skip);
find("report-button").addEventListener("click", () => {
  find("report-text").value = find("report").returnValue = "";
  find("report").showModal();
});
find("report").addEventListener("close", async () => {
  if (find("report").returnValue !== "send") return;
  await queue.add("/api/report", {assignment: current.task.assignment, text: find("report-text").value});
  showNote(gettext("Report sent. You can still answer or skip this item."), "info");
});

// --- Begin ----------------------------------------------------------------------------------------

/** Send unsent answers of an earlier visit, then show the first item with its current answers. */
const begin = asMove(async () => {
  showProgress();
  let fresh = {};
  if ((await queue.getEntries()).length) {
    const isSent = await Promise.race([queue.flush(), new Promise(end => setTimeout(end, 4000, false))]);
    if (isSent && session.task) fresh = await fetchJson(`/api/tasks/${session.task.assignment}`, {fallback: fresh});
  }
  if (!session.task) fresh = await fetchJson("/api/next", {send: {}});
  current = latest = {...session, ...fresh};
  if (!current.task) {
    location.replace(`${ROOT}/thanks`);
    return;
  }
  history.replaceState({assignment: current.task.assignment, visited}, "", location.pathname);
  await show(current);
  find("saved").dataset.state ||= "";
  document.documentElement.dataset.ready = "yes";
});

await begin();
