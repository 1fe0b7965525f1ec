// The choice between two images; "a" is the first by name, on either side.
import {makeChoiceButton, isOnControl, findParts, showPrompt, addZoom} from "../parts.js";
import {gettext} from "../../texts.js";

export function start(task, api) {
  const part = findParts(api.root);
  const [left, right] = task.images;
  const getLetter = image => (image.id === [left.id, right.id].sort()[0] ? "a" : "b");
  const choices = [
    {value: getLetter(left), name: gettext("A is better"), keys: ["1", "ArrowLeft"]},
    {value: getLetter(right), name: gettext("B is better"), keys: ["2", "ArrowRight"]},
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
  const zoom = addZoom([part.left, part.right], part.zoom, api);
  const buttons = choices.map((option, index) => makeChoiceButton(option, index, api, () => choose(option.value)));
  part.choices.append(...buttons);

  function draw() {
    choices.forEach(({value}, index) => buttons[index].setAttribute("aria-pressed", String(value === choice)));
    part.next.setAttribute("aria-disabled", String(!choice));
  }

  function choose(value) {
    const before = choice;
    choice = value;
    part.error.textContent = "";
    api.save(null, {choice, left: getLetter(left)}).catch(error => {
      choice = before;
      part.error.textContent = error.message;
      draw();
    });
    draw();
    part.next.focus({preventScroll: true});
    api.say(`${choices.find(option => option.value === value).name}. ${gettext("Press Enter to continue.")}`);
  }

  function proceed() {
    if (choice) api.done();
    else api.say(gettext("Nothing selected yet"));
  }

  part.next.addEventListener("click", proceed, {signal: api.signal});
  api.shortcuts([
    ...choices.map(({keys, name, value}) => ({keys, label: name, run: () => choose(value)})),
    {key: "z", label: gettext("Zoom"), run: () => zoom.toggle()},
    {key: "Enter", label: gettext("Continue"), run: () => isOnControl() || proceed()},
  ]);
  draw();

  return {
    /** Show the right answer of a training item. */
    mark(expected) {
      const correct = choices.find(option => option.value === expected.item?.choice);
      part.note.textContent = correct && correct.value !== choice
        ? gettext("Correct answer: {answer}", {answer: correct.name})
        : gettext("All correct.");
      part.note.hidden = false;
    },
  };
}

/** Return whether two images are larger above each other than side by side. */
function isLargerStacked({clientWidth, clientHeight}, images) {
  const ratio = Math.max(...images.map(({width, height}) => width / height));
  const getWidth = (width, height) => Math.min(width, height * ratio);
  return getWidth(clientWidth, clientHeight / 2) > getWidth(clientWidth / 2, clientHeight);
}
