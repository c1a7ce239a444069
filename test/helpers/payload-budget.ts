import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';

/** Largest payload between workflow, activities and clients: data travels as references. Unit: bytes. */
export const PAYLOAD_BUDGET = 8 * 1024;

/** Leaves payloads as they are and refuses large ones, in both directions. */
class BudgetCodec implements PayloadCodec {
  async encode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => within(payload, 'sent'));
  }

  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => within(payload, 'received'));
  }
}

function within(payload: Payload, how: 'sent' | 'received'): Payload {
  const bytes = payload.data?.byteLength ?? 0;
  if (bytes <= PAYLOAD_BUDGET) return payload;
  const start = Buffer.from(payload.data ?? []).toString('utf8', 0, 200);
  throw new Error(`a payload of ${bytes} bytes was ${how}, ${PAYLOAD_BUDGET} are allowed: ${start}…`);
}

/** For workers and clients of tests. */
export const budgetConverter: DataConverter = { payloadCodecs: [new BudgetCodec()] };
