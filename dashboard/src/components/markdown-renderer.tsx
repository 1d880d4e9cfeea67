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

const LANGUAGES = { bash, sh: bash, shell: bash, console: bash, diff, go, ini, toml: ini, json, python, sql, yaml, yml: yaml };

// The highlighter comes after the sanitiser: it adds nothing but spans with class names of its own.
const REHYPE: Options["rehypePlugins"] = [rehypeSanitize, [rehypeHighlight, { languages: LANGUAGES, detect: false }]];
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
  pre: ({ children }) => (
    // Wide code scrolls sideways, and what scrolls must be reachable by keyboard.
    <pre tabIndex={0}>{children}</pre>
  ),
  // A picture would tell its server that a person reads this; a link leaves that to the reader.
  img: ({ src, alt }) => (
    <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noreferrer noopener nofollow">
      {alt === undefined || alt === "" ? "picture" : alt}
    </a>
  ),
  table: ({ children }) => <table tabIndex={0}>{children}</table>,
};

export function MarkdownRenderer({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={REMARK} remarkRehypeOptions={AS_TEXT} rehypePlugins={REHYPE} components={COMPONENTS}>
      {text}
    </ReactMarkdown>
  );
}
