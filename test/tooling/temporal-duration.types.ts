/**
 * Compiled by `npm run lint:types`, never run: Temporal's `Duration` must not be `any`. It becomes `any` when the types of the
 * package `ms` cannot be found; then the line after the expectation compiles and the compiler reports the unused expectation.
 */
import type { ActivityOptions } from '@temporalio/workflow';
import type { Duration } from '@temporalio/common';

export const right: ActivityOptions = { startToCloseTimeout: '10 minutes', heartbeatTimeout: 5_000 };

// @ts-expect-error -- not a duration
export const wrong: ActivityOptions = { startToCloseTimeout: 'ten bananas' };

type IsAny<T> = 0 extends 1 & T ? true : false;
export const durationIsAny: IsAny<Duration> = false;
