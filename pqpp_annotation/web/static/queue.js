// A queue of answers in IndexedDB, sent in order and kept until the server has saved them. Tabs share
// the queue: one tab sends at a time, and tells the others the results.

import {gettext} from "./texts.js";

/** Prefix of all paths of the study behind a proxy; "" without one. */
export const ROOT = new URL("..", import.meta.url).pathname.replace(/\/$/, "");

const STORE = "outbox";
const LONGEST_WAIT = 15_000;
const LARGEST_KEEPALIVE = 50_000; // browsers allow 64 kB in keepalive requests

/** Return a random id for an answer, by which the server ignores repeated ones. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
}

function toPromise(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Return the storage of entries: IndexedDB, or memory if the browser has none (a private window). */
async function openOutbox() {
  try {
    const opening = indexedDB.open("pqpp", 1);
    opening.onupgradeneeded = () =>
      opening.result.createObjectStore(STORE, {keyPath: "number", autoIncrement: true});
    const database = await toPromise(opening);
    const store = mode => database.transaction(STORE, mode, {durability: "strict"}).objectStore(STORE);
    return {
      isKept: true,
      getAll: () => toPromise(store("readonly").getAll()),
      add: entry => toPromise(store("readwrite").add(entry)),
      remove: number => toPromise(store("readwrite").delete(number)),
    };
  } catch {
    const entries = new Map();
    let last = 0;
    return {
      isKept: false,
      getAll: async () => [...entries.values()],
      add: async entry => entries.set((last += 1), {...entry, number: last}),
      remove: async number => entries.delete(number),
    };
  }
}

export class Queue {
  #outbox;
  #session;
  #notify;
  #waiting = new Map(); // client id -> {resolve, reject} of this tab's entry
  #tabs = new BroadcastChannel("pqpp");
  #sending = null;
  #added = false; // whether entries were added since #sendAll last read them
  #timer = 0;
  #failures = 0;

  /**
   * session: {study, who, csrf}; notify({waiting, state, isKept, why, entry, problem, isElsewhere}) is
   * called at each change: state is "saved", "sending", "offline" or "signed-out", `why` is the
   * server's reason for a temporary failure, `problem` its reason for rejecting an entry.
   */
  static async open(session, notify) {
    const queue = new Queue();
    queue.#outbox = await openOutbox();
    queue.#session = session;
    queue.#notify = notify;
    queue.#tabs.onmessage = ({data}) => queue.#receive(data);
    addEventListener("online", () => queue.flush());
    document.addEventListener("visibilitychange", () => document.hidden || queue.flush());
    return queue;
  }

  /** Return the entries of this person in this study, oldest first. */
  async getEntries() {
    const {study, who} = this.#session;
    return (await this.#outbox.getAll()).filter(entry => entry.study === study && entry.who === who);
  }

  /** Store an entry and send it; the promise settles when the server accepts or rejects it. */
  async add(path, body) {
    const {study, who} = this.#session;
    const id = body.client_id ?? newId();
    const settled = new Promise((resolve, reject) => this.#waiting.set(id, {resolve, reject}));
    settled.catch(() => {}); // callers can handle it as well
    // Before storing it: the page must not show "Saved" of the previous answer.
    this.#notify({waiting: this.#waiting.size, state: "sending", isKept: this.#outbox.isKept});
    await this.#outbox.add({id, study, who, path, body});
    this.#added = true;
    await this.#report("sending");
    this.flush();
    return settled;
  }

  /** Send all entries, including those added meanwhile; resolve to true if none remain. */
  async flush() {
    clearTimeout(this.#timer);
    do {
      this.#sending ??= this.#runLocked(() => this.#sendAll()).finally(() => (this.#sending = null));
      if (!(await this.#sending)) return false;
    } while (this.#added);
    return true;
  }

  /** Let one tab send at a time; without locks (no TLS), the server ignores repeated ids. */
  #runLocked(run) {
    return navigator.locks ? navigator.locks.request("pqpp-outbox", run) : run();
  }

  async #sendAll() {
    for (;;) {
      this.#added = false;
      const [entry] = await this.getEntries();
      if (!entry) {
        this.#failures = 0;
        await this.#report("saved");
        return true;
      }
      const outcome = await this.#send(entry);
      if (outcome.isRenewed) continue;
      if (outcome.state) {
        await this.#report(outcome.state, {why: outcome.why});
        this.#failures += 1;
        const wait = Math.min(LONGEST_WAIT, 500 * 2 ** this.#failures);
        if (outcome.state === "offline") this.#timer = setTimeout(() => this.flush(), wait);
        return false;
      }
      this.#failures = 0;
      await this.#outbox.remove(entry.number);
      const update = {id: entry.id, entry, result: outcome.result, problem: outcome.problem};
      this.#tabs.postMessage(update);
      this.#receive(update, true);
    }
  }

  /** Post JSON with the session's token. */
  post(path, body) {
    const text = JSON.stringify(body);
    return fetch(ROOT + path, {
      method: "POST",
      headers: {"Content-Type": "application/json", "X-CSRF-Token": this.#session.csrf},
      body: text,
      keepalive: text.length < LARGEST_KEEPALIVE,
      signal: AbortSignal.timeout(30_000),
    });
  }

  /** Send an entry; return {result} if accepted, {problem} if rejected, else {state} or {isRenewed}. */
  async #send({path, body}) {
    let response;
    try {
      response = await this.post(path, body);
    } catch {
      return {state: "offline"};
    }
    const data = await response.json().catch(() => ({}));
    if (response.ok) return {result: data};
    if (response.status === 401) return this.#renew();
    if (response.status === 429 || response.status >= 500) {
      return {state: "offline", why: data.error};
    }
    return {problem: data.error ?? gettext("the server rejected it ({status})", {status: response.status})};
  }

  /** Get a new token if the person has signed in again in another tab. */
  async #renew() {
    const response = await fetch(`${ROOT}/api/session`).catch(() => null);
    if (!response) return {state: "offline"};
    const data = await response.json().catch(() => ({}));
    if (!response.ok || data.who !== this.#session.who) return {state: "signed-out"};
    if (data.csrf === this.#session.csrf) return {state: "offline"};
    this.#session.csrf = data.csrf;
    return {isRenewed: true};
  }

  #receive({id, entry, result, problem}, isMine = false) {
    const {study, who} = this.#session;
    if (entry.study !== study || entry.who !== who) return; // another study on this host
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (problem) waiting?.reject(new Error(problem));
    else waiting?.resolve(result);
    this.#report(null, {entry, problem, isElsewhere: !isMine && !waiting});
  }

  async #report(state, update = {}) {
    const waiting = Math.max((await this.getEntries()).length, this.#waiting.size);
    this.#notify({waiting, state, isKept: this.#outbox.isKept, ...update});
  }
}
