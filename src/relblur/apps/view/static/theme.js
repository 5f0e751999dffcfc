// Sets the last chosen theme, or that of the system, before the page is drawn.
(() => {
  const chosen = localStorage.getItem("relblur-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
