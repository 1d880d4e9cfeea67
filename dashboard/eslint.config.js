import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import { defineConfig } from "eslint/config";
import globals from "globals";
import tseslint from "typescript-eslint";

// Imports point downwards: app → features → faces → { api | live } → wire, and everyone may use components.
const ABOVE = {
  components: ["app", "features", "faces", "api", "live", "wire"],
  wire: ["app", "features", "faces", "api", "live", "components"],
  api: ["app", "features", "faces", "live"],
  live: ["app", "features", "faces", "api"],
  faces: ["app", "features"],
  // A feature reaches its own files by "./"; any "@/features/…" is another feature.
  features: ["app", "features"],
  app: [],
};

const direction = Object.entries(ABOVE).map(([folder, forbidden]) => ({
  files: [`src/${folder}/**/*.{ts,tsx}`],
  rules: {
    "no-restricted-imports": [
      "error",
      {
        patterns: [
          { group: ["../*"], message: 'Reach other folders by "@/…".' },
          ...forbidden.map((above) => ({
            group: [`@/${above}/*`],
            message: `${folder} must not know ${above}.`,
          })),
        ],
      },
    ],
  },
}));

export default defineConfig(
  { ignores: ["dist", "node_modules", "src/wire/schema.ts"] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      globals: globals.browser,
      parserOptions: {
        projectService: { allowDefaultProject: ["scripts/*.mjs", "eslint.config.js"] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
  },
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: { "react-hooks": reactHooks },
    rules: {
      ...reactHooks.configs.recommended.rules,
      // A default says "and nothing for all others"; without one, every case has to be there.
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/consistent-type-imports": "error",
      // Numbers are what most templates are made of.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // TanStack Router navigates and redirects by throwing.
      "@typescript-eslint/only-throw-error": "off",
      // `onClick={() => setOpen(true)}` says what it does.
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "max-lines": ["error", 400],
    },
  },
  { files: ["scripts/*.mjs"], ...tseslint.configs.disableTypeChecked, languageOptions: { globals: globals.node } },
  ...direction,
);
