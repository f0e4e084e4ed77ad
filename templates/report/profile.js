"use strict";
(() => {
  const key = (row, at) => {
    const cell = row.cells[at];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.toLowerCase();
  };

  document.querySelectorAll("table.kernels").forEach((table) => {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const heads = table.querySelectorAll("thead th");
    let last = -1;
    let sign = 1;
    heads.forEach((head, at) => {
      head.querySelector("button").addEventListener("click", () => {
        sign = at === last ? -sign : 1;
        last = at;
        rows.sort((a, b) => {
          const [x, y] = [key(a, at), key(b, at)];
          return sign * (x < y ? -1 : x > y ? 1 : 0);
        });
        heads.forEach((each) => each.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        body.append(...rows);
      });
    });
  });
})();
