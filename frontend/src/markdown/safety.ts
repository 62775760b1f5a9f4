// What a model writes is a stranger's text: no raw HTML, links only to where a click is harmless, no images, which
// would tell strangers who reads what.

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** The address if a link to it is let through, else "". Relative ones would lead into this page, so they are not. */
export function safeUrl(url: string): string {
  try {
    return SCHEMES.has(new URL(url).protocol) ? url : "";
  } catch {
    return "";
  }
}
