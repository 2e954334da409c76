(class_declaration name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (property_identifier) @name) @function
(field_definition property: (property_identifier) @name) @field
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (arrow_function))) @function)
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: (arrow_function))) @function)
(assignment_expression left: (member_expression property: (property_identifier) @name) right: [(function_expression) (arrow_function)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @field)
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @field)
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @name)) @field
(program (import_statement) @import)
(program (lexical_declaration (variable_declarator value: [(call_expression function: (identifier) @require) (_ (call_expression function: (identifier) @require)) (_ (_ (call_expression function: (identifier) @require)))])) @import)
(program (variable_declaration (variable_declarator value: [(call_expression function: (identifier) @require) (_ (call_expression function: (identifier) @require)) (_ (_ (call_expression function: (identifier) @require)))])) @import)
(program (expression_statement [(call_expression function: (identifier) @require) @import (_ (call_expression function: (identifier) @require) @import) (_ (_ (call_expression function: (identifier) @require) @import))]))
