// What a finished page does with a script: copy its link, print. Without one the link can be selected by hand.
"use strict";

const copy = document.getElementById("copy");
const link = document.getElementById("link");
if (copy) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const [isCopied, isMarked] = document.getElementById("copied").children;
    isCopied.hidden = isMarked.hidden = true;
    try {
      await navigator.clipboard.writeText(link.value);
      isCopied.hidden = false;
    } catch {
      link.select(); // no clipboard without a secure connection
      isMarked.hidden = false;
    }
  });
  link.addEventListener("focus", () => link.select());
}

const print = document.getElementById("print");
if (print) {
  print.hidden = false;
  print.addEventListener("click", () => window.print());
}

for (const button of document.querySelectorAll("[data-copies]")) {
  const code = button.closest("figure").querySelector("code");
  const name = button.textContent;
  const [copied, marked] = button.dataset.copies.split("|");
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = copied;
    } catch {
      window.getSelection().selectAllChildren(code); // no clipboard without a secure connection
      button.textContent = marked;
    }
    setTimeout(() => { button.textContent = name; }, 2000);
  });
}

// Nothing folded is lost on paper.
window.addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("article details:not(.menu)")) folded.open = true;
});

const menus = [...document.querySelectorAll("details.menu")];
document.addEventListener("keydown", (event) => {
  const open = menus.find((menu) => menu.open);
  if (event.key !== "Escape" || !open) return;
  open.open = false;
  open.querySelector("summary").focus();
});
document.addEventListener("click", (event) => {
  menus.filter((menu) => !menu.contains(event.target)).forEach((menu) => { menu.open = false; });
});
