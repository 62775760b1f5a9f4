// One block of Markdown, drawn anew only when its source changes.

import type { Element } from "hast";
import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import remend from "remend";
import { words } from "../i18n/language";
import { Code } from "./Code";
import { withCaret } from "./caret";
import { safeUrl } from "./safety";
import { Table } from "./Table";

interface Props {
  readonly source: string;
  /** While more of it may come: the protocol of its caret. Open marks are closed for now. */
  readonly live: string | null;
}

const REMARK = [remarkGfm];
const NO_PLUGINS: [] = [];

export const MarkdownBlock = memo(function MarkdownBlock({ source, live }: Props) {
  return (
    <ReactMarkdown
      remarkPlugins={REMARK}
      rehypePlugins={live ? [[withCaret, live]] : NO_PLUGINS}
      urlTransform={safeUrl}
      components={live ? LIVE : SETTLED}
    >
      {live ? remend(source, { linkMode: "text-only", images: false }) : source}
    </ReactMarkdown>
  );
});

const SETTLED: Components = {
  a: ({ href, children }) => <SafeLink href={href}>{children}</SafeLink>,
  img: ({ src, alt }) => (
    <SafeLink href={typeof src === "string" ? src : undefined}>{words().answer.image(alt ?? "")}</SafeLink>
  ),
  pre: ({ node }) => <Pre node={node} />,
  table: ({ children }) => <Table live={false}>{children}</Table>,
  ol: ({ start, children }) => (
    <ol start={start} style={{ counterReset: `n ${(start ?? 1) - 1}` }}>
      {children}
    </ol>
  ),
  // An answer's headings stand below the page's own.
  h1: ({ children }) => <h3 className="h1">{children}</h3>,
  h2: ({ children }) => <h3 className="h2">{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
  h4: ({ children }) => <h5>{children}</h5>,
  h5: ({ children }) => <h6>{children}</h6>,
};

const LIVE: Components = { ...SETTLED, table: ({ children }) => <Table live>{children}</Table> };

function SafeLink(props: { readonly href: string | undefined; readonly children: React.ReactNode }) {
  if (!props.href) return <>{props.children}</>;
  return (
    <a href={props.href} target="_blank" rel="noopener noreferrer nofollow">
      {props.children}
    </a>
  );
}

function Pre({ node }: { readonly node: Element | undefined }) {
  const code = node?.children.find((child) => child.type === "element");
  if (code?.type !== "element") return null;
  const [name = ""] = classes(code).flatMap((name) => /^language-(.+)$/.exec(name)?.[1] ?? []);
  const caret = code.children.find((child) => child.type === "element")?.properties.dataP;
  const text = code.children.map((child) => (child.type === "text" ? child.value : "")).join("");
  return <Code code={text.replace(/\n$/, "")} language={name} caret={caret ? String(caret) : null} />;
}

function classes({ properties }: Element): readonly string[] {
  return Array.isArray(properties.className) ? properties.className.map(String) : [];
}
