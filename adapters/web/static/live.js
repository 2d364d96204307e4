// The page of a running job, kept up to date from the job's event stream; reloads when the job has ended.
"use strict";

const page = document.querySelector("article.running");
const WAITS_S = [1, 2, 5]; // before each new try to connect
const COVERAGE = { satisfied: "✓", partial: "◐" };
let seen = Number(page.dataset.seq);
let failures = 0;
const blocks = { summary: [], detail: [] };

function connect() {
  const stream = new EventSource(`${page.dataset.stream}&after=${seen}`);
  const listen = (type, show) => stream.addEventListener(type, (event) => {
    failures = 0;
    seen = Number(event.lastEventId);
    show(JSON.parse(event.data));
  });
  listen("status", showStatus);
  listen("source", showSource);
  listen("answer", showSentence);
  stream.addEventListener("complete", () => { stream.close(); location.reload(); });
  stream.addEventListener("error", () => { stream.close(); retry(); });
}

function retry() {
  const wait = WAITS_S[Math.min(failures, WAITS_S.length - 1)];
  failures += 1;
  say(page.dataset.lost);
  // The page itself tells what has happened meanwhile, even where the stream does not come through.
  setTimeout(() => failures <= WAITS_S.length ? connect() : refresh(), wait * 1000);
}

function refresh() {
  fetch(location.href, { method: "HEAD" }).then((answer) => answer.ok ? location.reload() : retry(), retry);
}

function say(message) {
  document.getElementById("message").textContent = message.replace(/\.\.\.$/, "") + " …";
}

function showStatus(status) {
  const told = status.data || {};
  if (status.stage === "pending" && page.querySelector(".active")) return; // told late: it has begun
  say(status.message);
  page.querySelector("progress").value = status.progress;
  const stages = [...page.querySelectorAll("[data-stage]")];
  const at = stages.findIndex((stage) => stage.dataset.stage === status.stage);
  stages.forEach((stage, number) => {
    if (at < 0) return;
    stage.className = number < at ? "done" : number === at ? "active" : "waiting";
    if (number === at) stage.setAttribute("aria-current", "step");
    else stage.removeAttribute("aria-current");
  });
  if (told.queries) fill("queries", told.queries);
  if (told.parts && told.parts.length > 1) fill("parts", told.parts);
  if (told.card) showPlan(told.card);
  const steering = page.querySelector(".steering"); // what is said while the answer is written comes too late
  if (steering) steering.hidden = status.stage === "synthesizing" && (told.parts || []).length < 2;
  const understood = document.getElementById("understood");
  if (told.understood && understood.hidden) {
    understood.append(told.understood);
    understood.hidden = false;
  }
}

function showPlan(card) {
  const done = card.checklist.filter((item) => item.coverage === "satisfied").length;
  const plan = document.getElementById("plan");
  fill("plan", card.checklist.map((item) => `${COVERAGE[item.coverage] || "○"} ${item.id}. ${item.description}`));
  plan.querySelector(".count").textContent = card.iteration
    ? filled(card.facts === 1 ? page.dataset.round : page.dataset.rounds, {
      round: card.iteration, rounds: card.max_iterations, done, items: card.checklist.length, facts: card.facts,
    }) : card.duration;
}

function filled(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function showSource(source) {
  const title = source.title || source.url;
  const line = source.domain ? source.domain + " – " + title : title;
  const cards = [...page.querySelectorAll("#sources li")].map((card) => card.textContent);
  if (!cards.includes(line)) fill("sources", [...cards, line]);
}

function showSentence(sentence) {
  const drawn = document.createElement("template"), known = blocks[sentence.section].slice(0, sentence.kept);
  blocks[sentence.section] = [...known, ...sentence.drawn];
  drawn.innerHTML = blocks[sentence.section].join(""); // made safe as on the finished page
  grow(document.getElementById(sentence.section), drawn.content);
  page.querySelector("#answer").hidden = !page.querySelector("#summary > *, #detail > *");
}

// What stands there already stays the same element: nothing jumps, and what is selected stays so.
function grow(place, drawn) {
  const nodes = [...drawn.childNodes];
  nodes.forEach((node, number) => {
    const known = place.childNodes[number];
    if (!known) {
      if (node.classList) node.classList.add("new");
      place.append(node);
    } else if (node.nodeType === Node.ELEMENT_NODE && known.nodeName === node.nodeName) {
      if (node.title) known.title = node.title; // another mark
      grow(known, node);
    } else if (!known.isEqualNode(node)) known.replaceWith(node);
  });
  while (place.childNodes.length > nodes.length) place.lastChild.remove();
}

function fill(id, lines) {
  const section = document.getElementById(id);
  const list = section.querySelector("ul");
  const isMore = [...list.children].every((item, number) => item.textContent === lines[number]);
  if (!isMore) list.replaceChildren(); // another round's queries, or an item of the plan that is done
  lines.slice(list.children.length).forEach((line) => { // else only what is new, so that nothing jumps
    const item = list.appendChild(document.createElement("li"));
    item.className = "new";
    item.textContent = line;
  });
  const count = section.querySelector(".count");
  if (count) count.textContent = lines.length;
  section.hidden = lines.length === 0;
}

function tick() {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(page.dataset.since)) / 1000));
  const rest = (seconds % 60) + " s";
  document.getElementById("elapsed").textContent = seconds < 60 ? rest : Math.floor(seconds / 60) + " min " + rest;
}

setInterval(tick, 1000);
connect();
