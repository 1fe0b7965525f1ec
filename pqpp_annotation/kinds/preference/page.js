// The choice between two images; "a" is the first by name, on either side.
import {choiceButton, isOnControl, parts, showPrompt, zoomable} from "../parts.js";
import {gettext} from "../../texts.js";

export function start(task, api) {
  const part = parts(api.root);
  const [left, right] = task.images;
  const letter = image => (image.id === [left.id, right.id].sort()[0] ? "a" : "b");
  const choices = [
    {value: letter(left), name: gettext("A is better"), keys: ["1", "ArrowLeft"]},
    {value: letter(right), name: gettext("B is better"), keys: ["2", "ArrowRight"]},
    {value: "tie", name: gettext("Neither is better"), keys: ["3", "ArrowDown"]},
  ].filter(({value}) => value !== "tie" || task.settings.tie);
  let choice = task.answers.item?.choice;

  showPrompt(part.prompt, task.prompt);
  part.question.textContent = task.settings.question;
  for (const [image, {url, width, height}] of [[part.leftImage, left], [part.rightImage, right]]) {
    Object.assign(image, {src: url, width, height});
  }
  const fit = new ResizeObserver(() => part.stages.classList.toggle("stacked", isLargerStacked(part.stages, task.images)));
  fit.observe(part.stages);
  api.signal.addEventListener("abort", () => fit.disconnect());
  const zoom = zoomable([part.left, part.right], part.zoom, api);
  const buttons = choices.map((one, place) => choiceButton(one, place, api, () => choose(one.value)));
  part.choices.append(...buttons);

  function draw() {
    choices.forEach(({value}, place) => buttons[place].setAttribute("aria-pressed", String(value === choice)));
    part.next.setAttribute("aria-disabled", String(!choice));
  }

  function choose(value) {
    const before = choice;
    choice = value;
    part.error.textContent = "";
    api.save(null, {choice, left: letter(left)}).catch(error => {
      choice = before;
      part.error.textContent = error.message;
      draw();
    });
    draw();
    part.next.focus({preventScroll: true});
    api.say(`${choices.find(one => one.value === value).name}. ${gettext("Press Enter to continue.")}`);
  }

  function goOn() {
    if (choice) api.done();
    else api.say(gettext("Nothing selected yet"));
  }

  part.next.addEventListener("click", goOn, {signal: api.signal});
  api.shortcuts([
    ...choices.map(({keys, name, value}) => ({keys, label: name, run: () => choose(value)})),
    {key: "z", label: gettext("Zoom"), run: () => zoom.toggle()},
    {key: "Enter", label: gettext("Continue"), run: () => isOnControl() || goOn()},
  ]);
  draw();

  return {
    /** Show the right answer of a training item. */
    mark(expected) {
      const right = choices.find(one => one.value === expected.item?.choice);
      part.note.textContent = right && right.value !== choice
        ? gettext("Correct answer: {answer}", {answer: right.name})
        : gettext("All correct.");
      part.note.hidden = false;
    },
  };
}

/** Return whether two images are larger above each other than side by side. */
function isLargerStacked({clientWidth, clientHeight}, images) {
  const shape = Math.max(...images.map(({width, height}) => width / height));
  const widest = (width, height) => Math.min(width, height * shape);
  return widest(clientWidth, clientHeight / 2) > widest(clientWidth / 2, clientHeight);
}
