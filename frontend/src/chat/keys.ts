// Keys while an input method writes belong to it: Enter chooses a word, Esc gives one up. Safari says so by the key
// code alone, because it ends the composition before it tells of the key.

const BY_INPUT_METHOD = 229;

export function isComposing(event: React.KeyboardEvent): boolean {
  return event.nativeEvent.isComposing || event.keyCode === BY_INPUT_METHOD;
}

/** Enter alone sends. */
export function isSend(event: React.KeyboardEvent): boolean {
  return event.key === "Enter" && !event.shiftKey && !event.altKey && !isComposing(event);
}
