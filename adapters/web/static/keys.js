// Keys for those who like them. Each works where no text is being typed, and all can be switched off on any page.
"use strict";

const OFF = "gorkd.keys";
const map = document.getElementById("keys");
const isOn = document.getElementById("keys-on");

function step(by) {
  const citations = [...document.querySelectorAll(".cite a")];
  const at = citations.indexOf(document.activeElement);
  const next = at < 0 && by < 0 ? citations.length - 1 : at + by;
  if (citations.length) citations[(next + citations.length) % citations.length].focus();
}

function follow(selector) {
  const link = document.querySelector(selector);
  if (link) link.click();
}

const ACTIONS = {
  "n": () => step(1),
  "p": () => step(-1),
  "t": () => follow(".tabs a:not([aria-current])"),
  "b": () => follow(".eyebrow a"),
  "/": () => (document.getElementById("query") ? document.getElementById("query").focus() : follow(".brand")),
  "?": () => { map.open = !map.open; map.querySelector("summary").focus(); },
};

document.addEventListener("keydown", (event) => {
  const form = event.target.closest("form:has(textarea)");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select");
  const action = ACTIONS[event.key];
  if (!action || isTyping || !isOn.checked || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  action();
});

try {
  isOn.checked = localStorage.getItem(OFF) !== "off";
  isOn.addEventListener("change", () => localStorage.setItem(OFF, isOn.checked ? "on" : "off"));
} catch {
  // A browser that keeps nothing forgets the choice with the page.
}
map.hidden = false;
