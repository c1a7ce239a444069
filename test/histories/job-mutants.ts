import type { Mutant } from './mutants.js';

const PREFLIGHT = /await this\.call\('preflight'[\s\S]*?\]\)\);/;

/** Changes of the code that follows training jobs. */
export const JOB_MUTANTS: Mutant[] = [
  {
    name: 'an activity removed: the cluster is not looked at before an arm’s job',
    find: PREFLIGHT,
    put: '',
    breaks: ['jobs-happy.smoke-vime', 'jobs-happy.train-relax', 'job-preflight-refused.smoke-relax'],
  },
  {
    name: 'an activity added: the cluster is looked at before every slice of a job',
    find: /beforeSlice: \(done\) => this\.handOnIfDue\(done\)/,
    put: `beforeSlice: async (done) => {
            await this.handOnIfDue(done);
            await this.call('preflight', undefined, (summary) => this.proxies.job.preflight.executeWithOptions({ summary }, [this.handle]));
          }`,
    breaks: ['jobs-happy.train-vime', 'job-resumed.train-relax'],
  },
  {
    name: 'two activities in another order: a job is followed before its cluster is looked at',
    find: /await this\.call\('preflight'[\s\S]*?\]\)\);([\s\S]*?)(?=\n {4}\}\n)/,
    put: `await this.call('runTrainingJob', knownSteps, (summary) => this.proxies.job.runTrainingJob.executeWithOptions({ summary }, [{ ...this.handle, totalSteps: this.args.totalSteps, fromStep: knownSteps, untilStep: knownSteps + 1 }]));
        await this.call('preflight', undefined, (summary) => this.proxies.job.preflight.executeWithOptions({ summary }, [this.handle]));`,
    breaks: ['jobs-happy.smoke-relax', 'job-host-lost.train-relax'],
  },
  {
    name: 'a job that is left after its first slice',
    find: /if \(result\.finished\)\s*return;/,
    put: 'return;',
    breaks: ['jobs-happy.train-relax', 'job-stalled.train-relax'],
  },
  {
    name: 'a signal removed: the pipeline is not told how far a job is',
    find: /await run\.onProgress\(result\);/,
    put: '',
    breaks: ['jobs-happy.train-relax', 'job-waited.smoke-relax'],
  },
  {
    name: 'a timer removed: a cluster that belongs to another run is asked again at once',
    find: /await \(0,[\w.]+\.sleep\)\(`\$\{seconds\}s`[\s\S]*?\}\);/,
    put: '',
    breaks: ['job-waited.smoke-relax'],
  },
  {
    name: 'a signal removed: nobody is told who has the cluster',
    find: /await run\.onWaiting\(result\.waitingFor\);/,
    put: ';',
    breaks: ['job-waited.smoke-relax'],
  },
  {
    name: 'a job that is followed to its end in one workflow run, however long the history gets',
    find: /await run\.beforeSlice\(done\);/,
    put: '',
    breaks: ['job-continue-as-new.train-relax'],
  },
  {
    name: 'a job arm that is trained step by step',
    find: /this\.args\.engine === 'ray'\)/,
    put: "this.args.engine === 'none')",
    breaks: ['jobs-happy.train-relax', 'job-cancelled.train-relax'],
  },
  {
    name: 'a retry budget changed: a job that stood still is not repeated',
    find: /Stalled: \{\s*retried: true/,
    put: 'Stalled: { retried: false',
    breaks: ['job-stalled.train-relax'],
  },
  {
    name: 'a budget that a lost worker uses up at once',
    find: /HostLost: \{\s*retried: true/,
    put: 'HostLost: { retried: false',
    breaks: ['job-host-lost.train-relax'],
  },
  {
    name: 'smaller settings that are not tried: a job that ran out of memory is final',
    find: /if \(type === 'OutOfMemory'\)\s*return this\.useFallback\(meta\.stage\);/,
    put: "if (type === 'OutOfMemory') return false;",
    breaks: ['job-out-of-memory.train-relax'],
  },
];
