import type { Checker } from '../../../shared/conformance/types.js';
import type { KernelKind } from './case-models.js';
import { forwardChecker, packedChecker } from './forward.js';
import { samplingChecker } from './sampling.js';
import { adamwChecker, grpoChecker } from './training.js';

/** Checkers of the policy cases. @param kernels default: what the engine would take on this machine */
export function policyCheckers(kernels?: KernelKind): Checker[] {
  return [
    forwardChecker(kernels),
    packedChecker(kernels),
    grpoChecker(kernels),
    adamwChecker(kernels),
    samplingChecker(kernels),
  ];
}
