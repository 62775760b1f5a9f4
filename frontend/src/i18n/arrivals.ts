// Sentences about how events arrive, for the notice and for those who hear the charts instead of seeing them.
import type { Lang } from "../app/preferences";
import type { Buffering } from "../charts/buffering";
import type { Spread } from "../charts/gaps";

/** How one stream arrives; `name` is its protocol's. `none`: nothing to judge yet. */
export interface Manner {
  readonly name: string;
  readonly how: "none" | "even" | Buffering;
}

export interface ArrivalWords {
  /** The notice's first sentence and the rest; null when nothing is held back. */
  readonly buffering: (streams: readonly Manner[]) => { readonly what: string; readonly more: string } | null;
  /** These had to wait for the engine to end another answer. */
  readonly turns: (waited: readonly string[]) => { readonly what: string; readonly more: string };
  readonly arrivals: (streams: readonly Manner[]) => string;
  readonly gaps: (streams: readonly { readonly name: string; readonly spread: Spread | null }[]) => string;
  readonly bytes: (streams: readonly { readonly name: string; readonly bytes: number | null }[]) => string;
}

export const ARRIVAL_WORDS: Readonly<Record<Lang, ArrivalWords>> = {
  en: {
    buffering: (streams) => {
      const { held, even } = parted(streams);
      if (held.length === 0) return null;
      const streamsHeld = list("en", held);
      const one = held.length === 1;
      return {
        what: `A proxy is buffering the ${streamsHeld} ${one ? "stream" : "streams"}.`,
        more: `${one ? "Its" : "Their"} ${inWords(held[0])}${evenInWords(even.length, streams.length)}. Set ${cureFor(held, "and")} off on ${one ? "that route" : "these routes"}.`,
      };
    },
    turns: (waited) => ({
      what: "The engine did not compute all four at once.",
      more: `${names("en", waited)} had to wait for another answer to end: that wait is the engine's, not the protocol's.`,
    }),
    arrivals: (streams) => {
      const { held, even } = parted(streams);
      const parts = [
        even.length > 0 ? `${list("en", even)} ${even.length === 1 ? "arrives" : "arrive"} evenly` : "",
        ...held.map((stream) => `${stream.name} ${placedInWords(stream)}`),
      ].filter(Boolean);
      return `Arrivals: ${parts.join(", ") || "no events yet"}`;
    },
    gaps: (streams) => {
      const parts = streams.flatMap(({ name, spread }) =>
        spread
          ? [`${name} ${round(spread.low)} to ${round(spread.high)} ms, longest ${round(spread.longest)} ms`]
          : [],
      );
      return `Gaps, middle 90 percent and longest: ${parts.join("; ") || "no events yet"}`;
    },
    bytes: (streams) => `Bytes per token: ${byteFigures(streams).join(", ") || "no events yet"}`,
  },
  ja: {
    buffering: (streams) => {
      const { held } = parted(streams);
      if (held.length === 0) return null;
      return {
        what: `途中のプロキシが${list("ja", held)}ストリームをバッファリングしています。`,
        more: `${inJapanese(held[0])}この経路に ${cureFor(held, "と")} off を設定してください。`,
      };
    },
    turns: (waited) => ({
      what: "エンジンは四つを同時には計算していません。",
      more: `${names("ja", waited)}は、ほかの回答の終了を待ちました。プロトコルではなくエンジンによる待ち時間です。`,
    }),
    arrivals: (streams) => {
      const { held, even } = parted(streams);
      const parts = [
        even.length > 0 ? `${list("ja", even)}は均等` : "",
        ...held.map((stream) => `${stream.name}は${placedInJapanese(stream)}`),
      ].filter(Boolean);
      return `到着：${parts.join("、") || "イベントはまだありません"}`;
    },
    gaps: (streams) => {
      const parts = streams.flatMap(({ name, spread }) =>
        spread
          ? [`${name}は${round(spread.low)}〜${round(spread.high)} ms、最大${round(spread.longest)} ms`]
          : [],
      );
      return `間隔の中央90%と最大値：${parts.join("。") || "イベントはまだありません"}`;
    },
    bytes: (streams) =>
      `トークンあたりのバイト数：${byteFigures(streams).join("、") || "イベントはまだありません"}`,
  },
};

interface Held {
  readonly name: string;
  readonly how: Buffering;
}

function parted(streams: readonly Manner[]) {
  const held = streams.flatMap(({ name, how }): Held[] => (typeof how === "string" ? [] : [{ name, how }]));
  return { held, even: streams.filter(({ how }) => how === "even") };
}

function inWords(stream: Held | undefined): string {
  if (stream?.how.kind === "whole") return `whole answer came at once after ${seconds(stream.how.afterMs)} s`;
  return `events come in bursts about ${tens(stream)} ms apart`;
}

function evenInWords(even: number, all: number): string {
  if (even === 0) return "";
  const others = all - 1;
  if (even === 1) return others === 1 ? "; the other arrives one by one" : "; another arrives one by one";
  return `; ${even === others ? "the other" : "another"} ${even === 3 ? "three" : "two"} arrive one by one`;
}

function placedInWords({ how }: Held): string {
  if (how.kind === "whole") return `at once after ${seconds(how.afterMs)} s`;
  return `in bursts about ${Math.round(how.apartMs / 10) * 10} ms apart`;
}

function inJapanese(stream: Held | undefined): string {
  if (stream?.how.kind === "whole") return `回答全体が${seconds(stream.how.afterMs)}秒後に一度に届きました。`;
  return `イベントが約${tens(stream)} msごとにまとまって届いています。`;
}

function placedInJapanese({ how }: Held): string {
  if (how.kind === "whole") return `${seconds(how.afterMs)}秒後に一度に到着`;
  return `約${Math.round(how.apartMs / 10) * 10} ms間隔でまとまって到着`;
}

/** nginx's words: what comes in one piece may be held by its gzip, too. */
function cureFor(held: readonly Held[], and: string): string {
  return held.some(({ how }) => how.kind === "whole") ? `proxy_buffering ${and} gzip` : "proxy_buffering";
}

function byteFigures(streams: readonly { readonly name: string; readonly bytes: number | null }[]): string[] {
  return streams.flatMap(({ name, bytes }) => (bytes === null ? [] : [`${name} ${Math.round(bytes)}`]));
}

function list(lang: Lang, streams: readonly { readonly name: string }[]): string {
  return names(
    lang,
    streams.map(({ name }) => name),
  );
}

function names(lang: Lang, all: readonly string[]): string {
  return new Intl.ListFormat(lang === "en" ? "en-GB" : lang).format(all); // "A, B and C"
}

function tens(stream: Held | undefined): number {
  return stream?.how.kind === "bursts" ? Math.round(stream.how.apartMs / 10) * 10 : 0;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

function round(ms: number): number {
  return Math.round(ms);
}
