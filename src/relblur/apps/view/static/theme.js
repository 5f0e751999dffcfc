// Before the first paint: the theme that was chosen last, or the system's.
(() => {
  const chosen = localStorage.getItem("relblur-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
