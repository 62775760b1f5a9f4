// Something to know. Neutral in ink, danger in its hue: what happened, what is safe, what to do, then at most three
// buttons, and codes last.

import { Icon, type IconName } from "./Icon";

interface Props {
  readonly kind?: "neutral" | "danger";
  readonly icon?: IconName;
  /** What happened, in a sentence. */
  readonly title?: React.ReactNode;
  readonly children?: React.ReactNode;
  /** Buttons. */
  readonly actions?: React.ReactNode;
  /** Code and id, in mono. */
  readonly code?: string;
}

export function Notice({ kind = "neutral", icon, title, children, actions, code }: Props) {
  const danger = kind === "danger";
  return (
    <div className={danger ? "notice err" : "notice"} role={danger ? "alert" : "note"}>
      <Icon name={icon ?? (danger ? "alert" : "info")} />
      <div className="grow">
        {title && <b>{title}</b>} {children && <span>{children}</span>}
        {actions && <div className="do">{actions}</div>}
        {code && <p className="mono dim codes">{code}</p>}
      </div>
    </div>
  );
}
