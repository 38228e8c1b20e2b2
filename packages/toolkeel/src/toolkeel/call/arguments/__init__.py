"""The text of a call becomes keyword arguments, or words on what is wrong with it.

strict_reparse    when text that pydantic-core validated directly must be parsed strictly after all
parse             argument text becomes one JSON object, with errors that show the place
partial_value     the value of a preview: it may still grow, and cannot be sent or run
partial           arguments while they still arrive: a preview for people, of a type that cannot be run
convert           one value as another type, where it is but another spelling of it
coerce            the coercion table: what is also accepted where a schema advertises a type
wrong_places       where large arguments break the schema, so that coercion looks at nothing else
inexact_numbers   numbers that a float cannot hold exactly, reported as changes
validate          raw arguments become keyword arguments: directly if they are valid, else coerced or explained
canonical_arguments  validated arguments as the JSON that a model could have sent, and back; defaults filled in
argument_errors    the error of refused arguments: what was sent, the coercions before it, secrets masked
edits             what a person or a guard changed in a call, reported to the model and recorded in the result
mask              which secrets are masked in a run's events, tickets and failed results (how: _common/redact_secrets)
model_validators  validators that look at all of a model, what the program fills included
"""
