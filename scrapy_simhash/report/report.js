"use strict";
// Sorts and filters the table of all drops.
const table = document.querySelector("#drops table");
if (table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const controls = document.querySelector("#drops .controls");
  const [selects, text] = [controls.querySelectorAll("select"), controls.querySelector("input")];
  const filter = () => {
    let number = 0;
    for (const row of rows) {
      const isChosen = ({ name, value, selectedIndex }) => !selectedIndex || row.dataset[name] === value;
      const isFound = row.textContent.toLowerCase().includes(text.value.toLowerCase());
      row.hidden = !(isFound && [...selects].every(isChosen));
      number += !row.hidden;
    }
    const shown = [number, rows.length].map((each) => each.toLocaleString("en"));
    controls.querySelector("output").textContent = `${shown.join(" of ")} rows`;
  };
  for (const select of selects) {
    const counts = new Map();
    for (const row of rows) {
      const name = row.dataset[select.name];
      counts.set(name, (counts.get(name) || 0) + 1);
    }
    for (const [name, number] of [...counts].sort((a, b) => b[1] - a[1]).slice(0, 500)) {
      select.add(new Option(`${name || "none"} (${number})`, name));
    }
  }
  controls.addEventListener("input", filter);
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button")?.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[column].textContent.trim();
      rows.sort((a, b) => value(a).localeCompare(value(b), "en", { numeric: true }) * (down ? -1 : 1));
      body.append(...rows);
    });
  });
  controls.hidden = false;
  filter();
}
