(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name) @field))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @field)))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @name) @field)
(module [(import_statement) (import_from_statement) (future_import_statement)] @import)
