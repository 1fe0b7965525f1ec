// An unfinished answer with undo, stored in the browser until it is complete and saved.

const empty = () => ({implausible: [], misaligned: [], words: [], scores: {}, inappropriate: false});

export class Draft {
  #key;
  #undoStack = [];

  constructor(key, answer) {
    this.#key = key;
    const stored = this.#read();
    // A draft that was sent is already in the answer, or replaced by a later one.
    this.value = structuredClone((stored?.isSent ? answer : null) ?? stored?.value ?? answer ?? empty());
  }

  get canUndo() {
    return this.#undoStack.length > 0;
  }

  /** Make a change that can be undone. */
  change(run) {
    this.#undoStack.push(structuredClone(this.value));
    run();
    this.#write();
  }

  undo() {
    const previous = this.#undoStack.pop();
    if (!previous) return false;
    Object.assign(this.value, previous);
    this.#write();
    return true;
  }

  /** Mark the draft as sent. */
  send() {
    this.#write(true);
  }

  forget() {
    try {
      localStorage.removeItem(this.#key);
    } catch { /* The browser has no storage. */ }
  }

  #read() {
    try {
      return JSON.parse(localStorage.getItem(this.#key));
    } catch {
      return null;
    }
  }

  #write(isSent = false) {
    try {
      localStorage.setItem(this.#key, JSON.stringify({value: this.value, isSent}));
    } catch { /* The storage is full or missing; the draft stays in the page. */ }
  }
}
