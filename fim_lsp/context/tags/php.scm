(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @class
(trait_declaration name: (name) @name) @class
(enum_declaration name: (name) @name) @class
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @function
(property_declaration (property_element name: (variable_name (name) @name))) @field
(property_promotion_parameter name: (variable_name (name) @name)) @field
(const_declaration (const_element (name) @name)) @field
(enum_case name: (name) @name) @field
(namespace_use_declaration) @import
(program (expression_statement [(require_expression) (require_once_expression) (include_expression) (include_once_expression)]) @import)
