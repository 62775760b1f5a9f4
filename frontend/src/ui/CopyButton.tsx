// Copies, and says so where one looks: on itself, for two seconds.

import { useEffect, useState } from "react";
import { useWords } from "../i18n/language";
import { Button, IconButton } from "./Button";

interface Props {
  readonly text: () => string;
  /** An icon without words. */
  readonly iconOnly?: boolean;
}

const SAID_MS = 2000;

export function CopyButton({ text, iconOnly = false }: Props) {
  const { code } = useWords();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const label = copied ? code.copied : code.copy;
  const icon = copied ? "check" : "copy";
  const onClick = () => void copy(text()).then(setCopied);
  return (
    <>
      {iconOnly ? (
        <IconButton icon={icon} label={label} onClick={onClick} />
      ) : (
        <Button kind="quiet" icon={icon} onClick={onClick}>
          {label}
        </Button>
      )}
      <span className="sr" role="status">
        {copied ? code.copied : ""}
      </span>
    </>
  );
}

/** False where the browser does not let us. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOldWay(text);
  }
}

/** The clipboard's own interface is missing on plain http beyond localhost. */
function copyOldWay(text: string): boolean {
  const field = Object.assign(document.createElement("textarea"), { value: text, className: "sr" });
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}
