"""What is wrong with arguments, in words a model can act on.

conjunction        what several schemas together admit, as a few plain alternatives
conditions         schemas that hold for a value because of what was sent beside it
phrases            schemas in short phrases: "an integer from 1 to 10"
value_phrases      values and counts in short phrases: `"twelve" (a string)`, "2 keys"
validation_errors  the line for each failed field: expected, got, the nearest name (did you mean)
closest_branch     which branch of a union was intended (anyOf, oneOf)
pydantic_errors    pydantic's errors, in the same words
cut_value          a value with the first items of its long lists: what is explained of many errors
error_budget       explaining what is wrong within a budget, where pydantic would report a million faults
flat_unions        a JSON Schema whose unions report themselves without their branches
keyword_faults     one fault of the JSON Schema validator, in words
mismatch           why a value does not match a JSON Schema, field by field
schema_limits      what a JSON Schema from elsewhere may cost, judged before it is compiled
"""
