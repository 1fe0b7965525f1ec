// Updates the owner's pages, and shows times in the reader's time zone.

import {gettext} from "../texts.js";

const INTERVAL = 5000; // milliseconds

function localizeTimes(root) {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  for (const time of root.querySelectorAll("time[datetime]")) {
    const when = new Date(time.dateTime);
    if (!Number.isNaN(when.valueOf())) time.textContent = format.format(when);
  }
}

function showStatus(text) {
  const status = document.querySelector("[data-updated]");
  if (status) status.textContent = text;
}

// Parts with the focus or a selection are not replaced until the next update.
function isInUse(part) {
  const selection = document.getSelection();
  if (part.contains(document.activeElement)) return true;
  return selection && !selection.isCollapsed && part.contains(selection.anchorNode);
}

// Returns whether all parts were replaced.
function replaceParts(live, html) {
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  localizeTimes(fresh.content);
  const parts = [...fresh.content.querySelectorAll("section[id]")];
  const getIds = (list) => [...list].map((element) => element.id).join(" ");
  if (getIds(parts) !== getIds(live.querySelectorAll("section[id]"))) {
    if (isInUse(live)) return false;
    live.replaceChildren(fresh.content);
    return true;
  }
  let isComplete = true;
  for (const part of parts) {
    const old = live.querySelector(`#${part.id}`);
    if (isInUse(old)) {
      isComplete = false;
      continue;
    }
    const scrolled = [...old.querySelectorAll(".scroll")].map((element) => element.scrollLeft);
    old.replaceWith(part);
    part.querySelectorAll(".scroll").forEach((element, index) => { element.scrollLeft = scrolled[index] ?? 0; });
  }
  return isComplete;
}

async function update(live) {
  const headers = { "X-Part": "live", "If-None-Match": live.dataset.live };
  const response = await fetch(location.href, { headers, credentials: "same-origin" });
  if (response.status === 304) return;
  if (!response.ok || response.redirected) throw new Error(String(response.status));
  const html = await response.text();
  if (replaceParts(live, html)) live.dataset.live = response.headers.get("X-Key") ?? "";
}

async function watch(live) {
  for (;;) {
    await new Promise((resolve) => { setTimeout(resolve, INTERVAL); });
    if (document.hidden) continue;
    try {
      await update(live);
      showStatus(gettext("Updated {time}", { time: new Date().toLocaleTimeString() }));
    } catch {
      showStatus(gettext("No connection. This page may be out of date."));
    }
  }
}

localizeTimes(document);
const live = document.querySelector("[data-live]");
if (live) watch(live);
