/**
 * Who may import whom, types included. The run-time rules (cycles, what the workflow bundle may reach) are in
 * .dependency-cruiser.runtime.cjs.
 *
 * @type {import('dependency-cruiser').IConfiguration}
 */
const layer = (name, folder, allowed) => ({
  name,
  severity: 'error',
  comment: `${folder}/ may import only ${allowed.join(', ')}`,
  from: { path: `^${folder}/` },
  to: { path: '^(activities|cli|engines|scripts|shared|workers|workflows)/', pathNot: `^(${allowed.join('|')})/` },
});

module.exports = {
  forbidden: [
    layer('shared-stands-alone', 'shared', ['shared']),
    layer('engines-on-shared', 'engines', ['engines', 'shared']),
    layer('activities-on-engines-and-shared', 'activities', ['activities', 'engines', 'shared']),
    // Workers take workflows as a bundle, never as modules.
    layer('workers-not-on-workflows', 'workers', ['workers', 'activities', 'engines', 'shared']),
    layer('workflows-on-contracts', 'workflows', ['workflows', 'shared/contracts']),
    {
      name: 'workflow-packages',
      severity: 'error',
      comment: 'workflow code runs in the sandbox: only the SDK’s own packages are written for it',
      from: { path: '^workflows/' },
      to: { path: 'node_modules/', pathNot: 'node_modules/@temporalio/(workflow|common)/' },
    },
    {
      name: 'no-node-in-workflows',
      severity: 'error',
      comment: 'Node’s modules do not exist in the workflow sandbox',
      from: { path: '^workflows/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'temporal-stays-outside-shared',
      severity: 'error',
      comment: 'shared/ is domain code; only the binary look-up knows the SDK',
      from: { path: '^shared/', pathNot: '^shared/temporal-binary/' },
      to: { path: 'node_modules/@temporalio/' },
    },
    {
      name: 'contracts-are-leaves',
      severity: 'error',
      comment: 'contracts are imported by everything, so they import nothing but each other',
      from: { path: '^shared/contracts/' },
      to: { path: '^shared/', pathNot: '^shared/contracts/' },
    },
    {
      name: 'tests-are-not-imported',
      severity: 'error',
      from: { pathNot: '^test/' },
      to: { path: '^test/' },
    },
    {
      name: 'declared-packages-only',
      severity: 'error',
      comment: 'a package that is not in package.json is there by accident',
      from: { path: '^(activities|cli|engines|shared|workers|workflows)/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-dev'] },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|engines/embedded/kernels/assembly)/' },
  },
};
