/** One line of a converted dataset (JSONL): what every later stage reads. */
export interface DatasetRow {
  /** The question. */
  prompt: string;
  /** First acceptable answer. */
  label: string;
  metadata: {
    question: string;
    context: string;
    /** Every acceptable answer. */
    ground_truth: string[];
    num_docs: number | null;
    data_source: string;
  };
}
