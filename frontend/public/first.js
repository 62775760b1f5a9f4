// Before the first paint: the theme and the language that were chosen (src/app/preferences.ts keeps them).
try {
  const { theme, lang } = JSON.parse(localStorage.getItem("polystream.preferences") ?? "{}");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  if (lang === "en" || lang === "ja") document.documentElement.lang = lang;
} catch {
  // Nothing was chosen, or the browser keeps nothing: the system's theme it is.
}
