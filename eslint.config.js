import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Relative imports must carry `.js`: Node runs the compiled files as they are, and the compiler (bundler resolution) would not complain. */
const RELATIVE_WITHOUT_EXTENSION = '^\\.{1,2}/(?!.*\\.(js|json|mjs|cjs)$)';

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'node_modules/**',
      'runs/**',
      'engines/embedded/kernels/assembly/**',
      'test/fixtures/**/*.mjs',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommended],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      eqeqeq: 'error',
      'no-control-regex': 'off',
      'object-shorthand': 'error',
      'no-duplicate-imports': ['error', { allowSeparateTypeImports: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: RELATIVE_WITHOUT_EXTENSION, message: 'Write the .js extension: Node needs it.' }] },
      ],
    },
  },
  {
    files: ['workflows/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', 'process', 'Buffer', 'fetch', 'crypto', 'structuredClone', 'performance'],
    },
  },
  {
    files: ['**/*.js', '**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        Buffer: 'readonly',
        setTimeout: 'readonly',
      },
    },
  }
);
