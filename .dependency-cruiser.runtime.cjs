/**
 * What is true of the code as it runs (type-only imports are gone): no cycles, and nothing in the workflow bundle that the
 * sandbox does not have.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-zod-in-workflows',
      severity: 'error',
      comment: 'zod would treble the workflow bundle; types of the recipe are imported with `import type`',
      from: { path: '^workflows/' },
      to: { path: 'node_modules/zod/', reachable: true },
    },
    {
      name: 'no-node-reachable-from-workflows',
      severity: 'error',
      comment: 'a contract that needs Node is no leaf: split it',
      from: { path: '^workflows/' },
      to: {
        path: '^(node:)?(crypto|fs|path|os|child_process|url|worker_threads|http|net)(/promises)?$',
        reachable: true,
      },
    },
  ],
  options: {
    tsPreCompilationDeps: false,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|engines/embedded/kernels/assembly)/' },
  },
};
