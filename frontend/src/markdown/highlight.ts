// Code in ink and weight, with two hues for strings and numbers. A line at a time and the same rules for every
// language: little is right everywhere, and a line that has come is never looked at again.

export type Kind = "k" | "s" | "n" | "c" | null;

export interface Piece {
  readonly kind: Kind;
  readonly text: string;
}

const HASH = new Set(
  "python py bash sh shell zsh yaml yml toml ruby rb r perl nginx dockerfile makefile ini conf elixir".split(
    " ",
  ),
);
const DASHES = new Set(["sql", "lua", "haskell", "hs", "elm"]);
/** Where the first word of a line says what the line is. */
const DIRECTIVES = new Set(["nginx", "dockerfile", "apache", "ssh"]);
const PLAIN = new Set([
  "",
  "text",
  "txt",
  "plain",
  "plaintext",
  "markdown",
  "md",
  "console",
  "output",
  "log",
]);

const KEYWORDS = new Set(
  (
    "abstract and as assert async await break case catch class const continue def default defer del delete do elif " +
    "else end enum except export extends extern final finally fn for from func function global go goto if impl " +
    "implements import in instanceof interface is lambda let local loop match mod module mut namespace new nonlocal " +
    "not null none nil of or package pass private protected pub public raise return select self static struct super " +
    "switch this throw throws trait true false try type typeof union unless unsafe until use using var void where " +
    "while with yield begin then fi done esac echo export set create table insert into values update group order by " +
    "having join left right inner outer on limit"
  ).split(" "),
);

const STRING = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?/.source;
const NUMBER = /\b0x[\da-f]+\b|\b\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?(?:ms|s|m|h|d|k|px|rem|em|%)?\b/.source;
/** Not taken apart. */
const URL_LIKE = /\b[a-z]+:\/\/[^\s;,'")\]}]*/.source;
const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/u.source;

/** The pieces of a line; joined they are the line. */
export function highlight(line: string, language: string): readonly Piece[] {
  if (PLAIN.has(language)) return [{ kind: null, text: line }];
  const pattern = new RegExp(
    `(?:${URL_LIKE})|(${comment(language)}.*)|(${STRING})|(${NUMBER})|(${WORD})`,
    "giu",
  );
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of line.matchAll(pattern)) {
    if (found.index > at) pieces.push({ kind: null, text: line.slice(at, found.index) });
    pieces.push({ kind: kindOf(found, line, language), text: found[0] });
    at = found.index + found[0].length;
  }
  if (at < line.length) pieces.push({ kind: null, text: line.slice(at) });
  return pieces;
}

function kindOf(found: RegExpMatchArray, line: string, language: string): Kind {
  if (found[1] !== undefined) return "c";
  if (found[2] !== undefined) return "s";
  if (found[3] !== undefined) return "n";
  if (found[4] === undefined) return null;
  if (DIRECTIVES.has(language)) return line.slice(0, found.index).trim() === "" ? "k" : null;
  return KEYWORDS.has(language === "sql" ? found[0].toLowerCase() : found[0]) ? "k" : null;
}

function comment(language: string): string {
  if (HASH.has(language)) return "(?<![^\\s])#";
  if (DASHES.has(language)) return "--";
  if (language === "html" || language === "xml") return "<!--";
  return "//|/\\*";
}
