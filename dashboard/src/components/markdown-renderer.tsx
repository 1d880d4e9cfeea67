/** The part of Markdown that is worth loading late: parser, sanitiser, highlighter with the languages of operations. */
import bash from "highlight.js/lib/languages/bash";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import yaml from "highlight.js/lib/languages/yaml";
import type { Options } from "react-markdown";
import ReactMarkdown from "react-markdown";
import rehypeHighlight from "rehype-highlight";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { useMemo } from "react";
import { CodeBlock } from "./code-block";
import type { Marks } from "./markdown-marks";
import { MARK_TAG, rehypeMarks, takeOut } from "./markdown-marks";

const LANGUAGES = { bash, sh: bash, shell: bash, console: bash, diff, go, ini, toml: ini, json, python, sql, yaml, yml: yaml };

const HIGHLIGHT: [typeof rehypeHighlight, object] = [rehypeHighlight, { languages: LANGUAGES, detect: false }];
const REMARK: Options["remarkPlugins"] = [remarkGfm];

const LINE_BREAK = /^<br\s*\/?>$/i;
const HOLDS_BLOCKS: ReadonlySet<string> = new Set(["root", "blockquote", "listItem", "footnoteDefinition"]);

/** Tags are shown, not obeyed and not left out: what looks like one is mostly a word to fill in, such as `<pod-name>`. */
const AS_TEXT: Options["remarkRehypeOptions"] = {
  handlers: {
    html(_, { value }: { value: string }, parent: { type: string } | undefined) {
      if (LINE_BREAK.test(value)) return { type: "element", tagName: "br", properties: {}, children: [] };
      const text = { type: "text" as const, value };
      return parent && HOLDS_BLOCKS.has(parent.type) ? { type: "element", tagName: "p", properties: {}, children: [text] } : text;
    },
  },
};

const COMPONENTS: Options["components"] = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener nofollow">
      {children}
    </a>
  ),
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  // A picture would tell its server that a person reads this; a link leaves that to the reader.
  img: ({ src, alt }) => (
    <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noreferrer noopener nofollow">
      {alt === undefined || alt === "" ? "picture" : alt}
    </a>
  ),
  table: ({ children }) => <table tabIndex={0}>{children}</table>,
};

export function MarkdownRenderer({ text, marks }: { text: string; marks?: Marks | undefined }) {
  const { Mark, spansOf } = marks ?? {};
  const { text: source, taken } = useMemo(() => takeOut(text, spansOf?.(text) ?? []), [text, spansOf]);
  // Marks and the highlighter come after the sanitiser: they add nothing but elements of their own.
  const rehype = useMemo((): Options["rehypePlugins"] => [rehypeSanitize, [rehypeMarks, taken], HIGHLIGHT], [taken]);
  const components = useMemo((): Options["components"] => (Mark ? { ...COMPONENTS, [MARK_TAG]: ({ children }: { children?: unknown }) => <Mark text={String(children)} /> } : COMPONENTS), [Mark]);
  return (
    <ReactMarkdown remarkPlugins={REMARK} remarkRehypeOptions={AS_TEXT} rehypePlugins={rehype} components={components}>
      {source}
    </ReactMarkdown>
  );
}
