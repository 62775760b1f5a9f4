// Where the text changed hands.

import type { Words } from "../i18n/language";
import { useWords } from "../i18n/language";
import { Icon } from "../ui/Icon";
import { PROTOCOL_NAMES } from "../ui/Mark";
import type { Seam } from "./conversation";

export function SeamLine({ seam }: { readonly seam: Seam }) {
  return (
    <p className="seam">
      <Icon name="join" />
      <span>{seamSentence(seam, useWords())}</span>
    </p>
  );
}

export function seamSentence({ cause, seq, protocol, count }: Seam, { seam }: Words): string {
  const to = PROTOCOL_NAMES[protocol];
  if (count > 1) return seam.several(count, seq, to);
  switch (cause) {
    case "dropped":
      return seam.dropped(seq, to);
    case "switched":
      return seam.switched(seq, to);
    case "reloaded":
      return seam.reloaded(seq, to);
    case "come_back":
      return seam.comeBack(seq, to);
    default:
      return seam.broken(seq, to);
  }
}
