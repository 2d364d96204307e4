// The asker's recent answers, kept in this browser and nowhere else: noted on the job's page, listed where one asks.
"use strict";

const KEY = "gorkd.recent";
const ASKED = "gorkd.asked";
const MOST = 12;

function recent() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY));
    return Array.isArray(kept) ? kept.filter((one) => /^[\w-]+$/.test(one.id) && typeof one.question === "string") : [];
  } catch {
    return [];
  }
}

function note(job) {
  const others = recent().filter((one) => one.id !== job.id);
  localStorage.setItem(KEY, JSON.stringify([{ id: job.id, question: job.question }, ...others].slice(0, MOST)));
}

// The quick answer is what is ticked at first, and gives way to the first other choice; it may be ticked again.
function giveWay() {
  const quick = document.querySelector("[name=mode][value=quick]:checked");
  const others = [...document.querySelectorAll("[name=mode]")].filter((one) => one !== quick);
  if (!quick || others.some((one) => one.checked)) return;
  const chosen = new AbortController();
  const give = () => { quick.checked = false; chosen.abort(); };
  others.forEach((one) => one.addEventListener("change", give, { signal: chosen.signal }));
}

function list() {
  const section = document.getElementById("recent");
  if (!section) return;
  const kept = recent();
  section.hidden = kept.length === 0;
  section.querySelector("ul").replaceChildren(...kept.map((one) => {
    const item = document.createElement("li");
    const link = item.appendChild(document.createElement("a"));
    link.href = "/jobs/" + one.id;
    link.textContent = one.question;
    return item;
  }));
}

try {
  for (const form of document.querySelectorAll("form[data-ask]")) {
    form.addEventListener("submit", () => sessionStorage.setItem(ASKED, "yes"));
  }
  const job = document.querySelector("[data-job]");
  if (job && sessionStorage.getItem(ASKED)) {
    sessionStorage.removeItem(ASKED); // who opens somebody else's link has not asked
    if (!("private" in job.dataset)) note({ id: job.dataset.job, question: job.dataset.question });
  }
  const forget = document.getElementById("forget");
  if (forget) forget.addEventListener("click", () => { localStorage.removeItem(KEY); list(); });
  window.addEventListener("pageshow", list);
  list();
} catch {
  // A browser that keeps nothing has nothing to list.
}

giveWay();
