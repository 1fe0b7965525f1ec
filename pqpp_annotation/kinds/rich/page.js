// RichHF's feedback on an image: points of two kinds, words, four scores and a flag.
import {isOnControl, make, findParts, addZoom} from "../parts.js";
import {Draft} from "./draft.js";
import {drawPoints, trackPoints} from "./points.js";
import {showWords} from "./words.js";
import {gettext} from "../../texts.js";

const MODES = [
  {name: "implausible", title: gettext("Implausible"), help: gettext("impossible or flawed"), key: "i"},
  {name: "misaligned", title: gettext("Misaligned"), help: gettext("does not match the prompt"), key: "m"},
];
const SCORES = [
  ["plausibility", gettext("Plausibility")], ["alignment", gettext("Alignment")],
  ["aesthetics", gettext("Aesthetics")], ["overall", gettext("Overall")],
];
const STEPS = [1, 2, 3, 4, 5];

export function start(task, api) {
  const part = findParts(api.root);
  const [image] = task.images;
  const draft = new Draft(`pqpp-draft-${api.who}-${task.assignment}`, task.answers[image.id]);
  const {value} = draft;
  let mode = MODES[0];

  part.stage.style.setProperty("--ratio", image.width / image.height);
  Object.assign(part.image, {src: image.url, width: image.width, height: image.height});
  const zoom = addZoom([part.stage], part.zoom, api);

  // --- Points ---
  const modes = MODES.map(option => {
    const button = make(
      "button", {type: "button", class: `mode ${option.name}`, "aria-pressed": "false"},
      make("kbd", {"aria-hidden": "true"}, option.key),
      make("span", {}, option.title), make("output", {}), make("small", {}, option.help),
    );
    button.addEventListener("click", () => choose(option), {signal: api.signal});
    part.modes.append(button);
    return button;
  });

  function choose(option) {
    mode = option;
    api.say(`${option.title}: ${option.help}`);
    draw();
  }

  trackPoints(part, api, point => {
    draft.change(() => value[mode.name].push(point));
    const [x, y] = point.map(fraction => Math.round(100 * fraction));
    const number = value[mode.name].length;
    api.say(gettext("{kind}: point {number}, {x} percent from the left, {y} percent from the top", {kind: mode.title, number, x, y}));
    draw();
  });

  function remove(name, index) {
    draft.change(() => value[name].splice(index, 1));
    draw();
    api.say(gettext("Point removed"));
    (part.points.querySelector("button") ?? part.canvas).focus({preventScroll: true});
  }

  function undo() {
    api.say(draft.undo() ? gettext("Undone") : gettext("Nothing to undo"));
    draw();
  }

  // --- Words ---
  const words = showWords(part.prompt, task.prompt, api, number => {
    draft.change(() => {
      const index = value.words.indexOf(number);
      if (index < 0) value.words.push(number);
      else value.words.splice(index, 1);
      value.words.sort((a, b) => a - b);
    });
    draw();
  });

  // --- Scores ---
  const rows = SCORES.map(([name, title]) => {
    const row = make("fieldset", {class: "score"}, make("legend", {}, title));
    for (const step of STEPS) {
      const input = make("input", {type: "radio", name: `score-${name}`, value: String(step)});
      input.addEventListener("change", () => setScore(name, step), {signal: api.signal});
      row.append(make("label", {}, input, make("span", {}, String(step))));
    }
    part.scores.append(row);
    return row;
  });
  const findMissing = () => SCORES.findIndex(([name]) => !(name in value.scores));

  function setScore(name, step) {
    draft.change(() => (value.scores[name] = step));
    draw();
  }

  /** Score the focused row, or the first row without a score. */
  function scoreNextRow(step) {
    const focused = rows.findIndex(row => row.contains(document.activeElement));
    const index = focused >= 0 ? focused : findMissing();
    if (index < 0) return;
    const [name, title] = SCORES[index];
    setScore(name, step);
    const next = findMissing();
    const hint = next < 0
      ? gettext("All scores given. Press Enter to continue.")
      : gettext("Next: {score}", {score: SCORES[next][1]});
    api.say(`${title} ${step}. ${hint}`);
    if (next < 0) part.next.focus({preventScroll: true});
    else if (focused >= 0) rows[next].querySelector("input").focus({preventScroll: true});
  }

  // --- The flag, and going on ---
  part.flag.hidden = !task.settings.inappropriate;
  const setFlag = isOn => {
    draft.change(() => (value.inappropriate = isOn));
    api.say(isOn ? gettext("Marked as inappropriate. Press Enter to continue.") : gettext("No longer marked as inappropriate"));
    draw();
  };
  part.inappropriate.addEventListener("change", () => setFlag(part.inappropriate.checked), {signal: api.signal});

  function proceed() {
    const index = findMissing();
    if (index >= 0 && !value.inappropriate) {
      api.say(gettext("{score} not scored yet", {score: SCORES[index][1]}));
      rows[index].querySelector("input").focus();
      return;
    }
    draft.send();
    api.save(image.id, structuredClone(value)).then(() => draft.forget(), error => {
      part.error.textContent = error.message;
    });
    api.done();
  }

  part.next.addEventListener("click", proceed, {signal: api.signal});
  part.undo.addEventListener("click", undo, {signal: api.signal});
  const isUndo = event => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
  document.addEventListener("keydown", event => {
    if (!isUndo(event)) return;
    event.preventDefault();
    undo();
  }, {signal: api.signal});

  function draw() {
    drawPoints(part.drawing, image, MODES.map(({name}) => ({name, points: value[name]})));
    MODES.forEach((option, index) => {
      modes[index].setAttribute("aria-pressed", String(option === mode));
      modes[index].querySelector("output").textContent = value[option.name].length || "";
    });
    part.points.replaceChildren(...MODES.flatMap(({name, title}) => value[name].map((_, index) => {
      const button = make(
        "button", {type: "button", class: `point ${name}`, "aria-label": gettext("{kind}: remove point {number}", {kind: title, number: index + 1})},
        `${index + 1} ×`,
      );
      button.addEventListener("click", () => remove(name, index));
      return make("li", {}, button);
    })));
    words.draw(value.words);
    SCORES.forEach(([name], index) => {
      for (const input of rows[index].querySelectorAll("input")) input.checked = value.scores[name] === Number(input.value);
      rows[index].classList.toggle("current", !value.inappropriate && index === findMissing());
    });
    part.inappropriate.checked = value.inappropriate;
    part.next.setAttribute("aria-disabled", String(findMissing() >= 0 && !value.inappropriate));
    part.undo.disabled = !draft.canUndo;
  }

  api.shortcuts([
    ...MODES.map(option => ({key: option.key, label: `${option.title}: ${option.help}`, run: () => choose(option)})),
    {key: "p", label: gettext("Go to the image: arrow keys move the crosshair, Enter adds a point"), run: () => part.canvas.focus()},
    {key: "w", label: gettext("Go to the words: arrow keys move, Space marks"), run: () => words.focus()},
    {keys: STEPS.map(String), label: gettext("Give the next missing score"), run: event => scoreNextRow(Number(event.key) || Number(event.code.slice(-1)))},
    ...(task.settings.inappropriate ? [{key: "x", label: gettext("Inappropriate image"), run: () => setFlag(!value.inappropriate)}] : []),
    {key: "Backspace", label: gettext("Undo"), run: undo},
    {key: "z", label: gettext("Zoom"), run: () => zoom.toggle()},
    {key: "Enter", label: gettext("Continue"), run: () => isOnControl() || proceed()},
  ]);
  draw();
  return {};
}
