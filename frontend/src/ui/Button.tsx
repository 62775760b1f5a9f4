// The one button. `main` once a view; an icon alone needs a label.

import type { ComponentPropsWithRef } from "react";
import { Icon, type IconName } from "./Icon";

export type ButtonKind = "main" | "line" | "quiet" | "danger" | "plain";

interface Props extends Omit<ComponentPropsWithRef<"button">, "children"> {
  readonly kind?: ButtonKind;
  readonly icon?: IconName;
  readonly children?: React.ReactNode;
}

export function Button({ kind = "plain", icon, children, className, ...rest }: Props) {
  return (
    <button type="button" className={buttonClass(kind, className)} {...rest}>
      {icon && <Icon name={icon} />}
      {children !== undefined && <span className="tx">{children}</span>}
    </button>
  );
}

interface IconProps extends Omit<ComponentPropsWithRef<"button">, "children"> {
  readonly icon: IconName;
  readonly label: string;
}

/** A square button with an icon; `label` is its name and its tooltip. */
export function IconButton({ icon, label, className, ...rest }: IconProps) {
  return (
    <button
      type="button"
      className={className ? `b icon ${className}` : "b icon"}
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
}

/** The class of whatever looks like a button: links, react-aria's triggers. */
export function buttonClass(kind: ButtonKind, more?: string): string {
  return ["b", kind === "plain" ? "" : kind, more ?? ""].filter(Boolean).join(" ");
}
