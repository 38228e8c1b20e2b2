"""Evals: does a model call these tools right?

matchers    expected values: literal, or exact, any, regex, approx, contains, one_of
cases       a case: a question and the calls that are expected
case_file   reading a file of cases: YAML, JSON or Python
tool_stubs  tools that accept valid calls and run nothing
scoring     the calls of one question against the expected ones
trials      questions sent to models, a number of times
report      the trials of one evaluation: figures by model, JSON, JUnit
comparison  two reports: which cases became better or worse
"""
