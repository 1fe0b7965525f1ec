// What a person said waits here, in IndexedDB, until the server has it on disk; it leaves in order.
// Tabs share the queue: one sends at a time, and each is told what became of its own.

import {gettext} from "./texts.js";

/** What stands before every path of the study, where a proxy serves it below a prefix. */
export const ROOT = new URL("..", import.meta.url).pathname.replace(/\/$/, "");

const STORE = "outbox";
const LONGEST_WAIT = 15_000;
const LARGEST_KEPT_ALIVE = 50_000; // a browser lets 64 kB outlive their page

/** A random name for an answer, by which the server knows one that comes twice. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
}

function asked(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Where entries are kept; in memory where a browser has no database (a private window). */
async function openOutbox() {
  try {
    const opening = indexedDB.open("pqpp", 1);
    opening.onupgradeneeded = () =>
      opening.result.createObjectStore(STORE, {keyPath: "number", autoIncrement: true});
    const database = await asked(opening);
    const store = mode => database.transaction(STORE, mode, {durability: "strict"}).objectStore(STORE);
    return {
      isKept: true,
      all: () => asked(store("readonly").getAll()),
      add: entry => asked(store("readwrite").add(entry)),
      remove: number => asked(store("readwrite").delete(number)),
    };
  } catch {
    const entries = new Map();
    let last = 0;
    return {
      isKept: false,
      all: async () => [...entries.values()],
      add: async entry => entries.set((last += 1), {...entry, number: last}),
      remove: async number => entries.delete(number),
    };
  }
}

export class Queue {
  #outbox;
  #session;
  #tell;
  #waiting = new Map(); // client id -> how the promise of this tab's entry is settled
  #tabs = new BroadcastChannel("pqpp");
  #sending = null;
  #added = false; // since the running #sendAll last looked for entries
  #timer = 0;
  #failures = 0;

  /**
   * session: {study, who, csrf}; tell({waiting, state, isKept, why, entry, problem, isElsewhere}):
   * called at each change; state is "saved", "sending", "offline" or "signed-out", `why` what the
   * server said that could not take an entry, `problem` why it refused one for good.
   */
  static async open(session, tell) {
    const queue = new Queue();
    queue.#outbox = await openOutbox();
    queue.#session = session;
    queue.#tell = tell;
    queue.#tabs.onmessage = ({data}) => queue.#hear(data);
    addEventListener("online", () => queue.flush());
    document.addEventListener("visibilitychange", () => document.hidden || queue.flush());
    return queue;
  }

  /** The entries of this person in this study, oldest first. */
  async mine() {
    const {study, who} = this.#session;
    return (await this.#outbox.all()).filter(one => one.study === study && one.who === who);
  }

  /** Keep what was said and send it; the promise is settled when the server has decided. */
  async add(path, body) {
    const {study, who} = this.#session;
    const id = body.client_id ?? newId();
    const settled = new Promise((resolve, reject) => this.#waiting.set(id, {resolve, reject}));
    settled.catch(() => {}); // whoever wants to know listens to it too
    // At once: until the answer is on the server's disk, "Saved" would be said of the one before.
    this.#tell({waiting: this.#waiting.size, state: "sending", isKept: this.#outbox.isKept});
    await this.#outbox.add({id, study, who, path, body});
    this.#added = true;
    await this.#report("sending");
    this.flush();
    return settled;
  }

  /** Send all that waits, also what comes meanwhile; resolves true when nothing is left. */
  async flush() {
    clearTimeout(this.#timer);
    do {
      this.#sending ??= this.#locked(() => this.#sendAll()).finally(() => (this.#sending = null));
      if (!(await this.#sending)) return false;
    } while (this.#added);
    return true;
  }

  /** Only one tab sends at a time; without locks (no TLS) the ids keep double ones from counting. */
  #locked(run) {
    return navigator.locks ? navigator.locks.request("pqpp-outbox", run) : run();
  }

  async #sendAll() {
    for (;;) {
      this.#added = false;
      const [entry] = await this.mine();
      if (!entry) {
        this.#failures = 0;
        await this.#report("saved");
        return true;
      }
      const outcome = await this.#send(entry);
      if (outcome.again) continue;
      if (outcome.state) {
        await this.#report(outcome.state, {why: outcome.why});
        this.#failures += 1;
        const wait = Math.min(LONGEST_WAIT, 500 * 2 ** this.#failures);
        if (outcome.state === "offline") this.#timer = setTimeout(() => this.flush(), wait);
        return false;
      }
      this.#failures = 0;
      await this.#outbox.remove(entry.number);
      const news = {id: entry.id, entry, result: outcome.result, problem: outcome.problem};
      this.#tabs.postMessage(news);
      this.#hear(news, true);
    }
  }

  /** Send JSON at once, with the session's token. */
  post(path, body) {
    const text = JSON.stringify(body);
    return fetch(ROOT + path, {
      method: "POST",
      headers: {"Content-Type": "application/json", "X-CSRF-Token": this.#session.csrf},
      body: text,
      keepalive: text.length < LARGEST_KEPT_ALIVE,
      signal: AbortSignal.timeout(30_000),
    });
  }

  /** Send one; {result} or {problem} when the server has decided, else {state} or {again}. */
  async #send({path, body}) {
    let response;
    try {
      response = await this.post(path, body);
    } catch {
      return {state: "offline"};
    }
    const said = await response.json().catch(() => ({}));
    if (response.ok) return {result: said};
    if (response.status === 401) return this.#renew();
    if (response.status === 429 || response.status >= 500) {
      return {state: "offline", why: said.error};
    }
    return {problem: said.error ?? gettext("the server rejected it ({status})", {status: response.status})};
  }

  /** The person may have signed in again, in another tab: then there is a new token. */
  async #renew() {
    const response = await fetch(`${ROOT}/api/session`).catch(() => null);
    if (!response) return {state: "offline"};
    const said = await response.json().catch(() => ({}));
    if (!response.ok || said.who !== this.#session.who) return {state: "signed-out"};
    if (said.csrf === this.#session.csrf) return {state: "offline"};
    this.#session.csrf = said.csrf;
    return {again: true};
  }

  #hear({id, entry, result, problem}, isMine = false) {
    const {study, who} = this.#session;
    if (entry.study !== study || entry.who !== who) return; // of another study on this host
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (problem) waiting?.reject(new Error(problem));
    else waiting?.resolve(result);
    this.#report(null, {entry, problem, isElsewhere: !isMine && !waiting});
  }

  async #report(state, news = {}) {
    const waiting = Math.max((await this.mine()).length, this.#waiting.size);
    this.#tell({waiting, state, isKept: this.#outbox.isKept, ...news});
  }
}
