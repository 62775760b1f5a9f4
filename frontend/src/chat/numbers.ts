// The ranges of docs/protocol.md for what one can set here.

export interface NumberRule {
  readonly min: number;
  readonly max: number;
  readonly whole: boolean;
}

const INT32 = 2 ** 31 - 1;

export const SAMPLING_RULES = {
  max_tokens: { min: 1, max: INT32, whole: true },
  seed: { min: 0, max: Number.MAX_SAFE_INTEGER, whole: true },
  top_p: { min: 0, max: 1, whole: false },
  top_k: { min: 0, max: INT32, whole: true },
} as const satisfies Record<string, NumberRule>;

/** undefined: empty, no number, or out of range. Full-width digits of Japanese input count too. */
export function readNumber(text: string, { min, max, whole }: NumberRule): number | undefined {
  const plain = text.normalize("NFKC").trim();
  if (!/^\d*\.?\d+$|^\d+\.$/.test(plain)) return undefined;
  const value = Number(plain);
  if (value < min || value > max || (whole && !Number.isInteger(value))) return undefined;
  return value;
}
