// Whatever breaks while drawing is said in words, never a blank page.

import { Component } from "react";
import { words } from "../i18n/language";
import { Button } from "../ui/Button";
import { Notice } from "../ui/Notice";

interface Props {
  /** A change of it tries again: the view's name. */
  readonly of: string;
  readonly children: React.ReactNode;
}

interface State {
  readonly error: Error | null;
  readonly of: string;
}

export class Boundary extends Component<Props, State> {
  override state: State = { error: null, of: this.props.of };

  static getDerivedStateFromError(error: Error): Partial<State> {
    return { error };
  }

  static getDerivedStateFromProps({ of }: Props, state: State): State | null {
    return of === state.of ? null : { of, error: null };
  }

  override render(): React.ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    const { broken } = words();
    return (
      <main className="broken">
        <Notice
          kind="danger"
          title={broken.title}
          code={String(error.message)}
          actions={
            <Button kind="line" icon="redo" onClick={() => location.reload()}>
              {broken.reload}
            </Button>
          }
        >
          {broken.text}
        </Notice>
      </main>
    );
  }
}
